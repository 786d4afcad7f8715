import t from 'tap'
import { type Cell, newCell } from '../../../coordinator/fleet/cell.ts'
import type { CellLink } from '../../../coordinator/fleet/cell-link.ts'
import { placementOrder } from '../../../coordinator/fleet/placement.ts'
import type { EngineReport, GpuSample } from '../../../shared/wire/telemetry.ts'
import { engine, gpu, sampleOf } from './samples.ts'

const cell = (
  id: string,
  report: Partial<EngineReport>,
  gpus: GpuSample[] = [],
  memory?: { total: number; used: number },
): Cell => {
  const sample = sampleOf(0, { gpus, engines: [engine(0, report)] })
  if (memory !== undefined) {
    sample.host.memory_total_bytes = memory.total
    sample.host.memory_used_bytes = memory.used
  }
  return { ...newCell(id, 1), presence: 'ready', link: {} as CellLink, sample }
}

const cold = (memory_bytes?: number, reason?: string): Partial<EngineReport> => ({
  state: 'cold',
  ...(memory_bytes !== undefined && { memory_bytes }),
  ...(reason !== undefined && { reason }),
})

t.test('the cell for a model is the one', async t => {
  for (const [title, best, others] of [
    ['where it is loaded', cell('a', {}), [cell('b', { state: 'loading' })]],
    ['with free slots', cell('a', { slots_busy: 1 }), [cell('b', { slots_busy: 4, queued: 1 })]],
    [
      'where it will be ready soonest',
      cell('a', { state: 'loading', remaining_seconds: 5 }),
      [cell('b', { state: 'loading', remaining_seconds: 50 }), cell('c', { state: 'loading' })],
    ],
    [
      'where most memory stays free',
      cell('a', cold(20), [gpu(50), gpu(50)]),
      [cell('b', cold(20), [gpu(40)]), cell('c', cold(), [gpu(0)])],
    ],
    [
      'that shares its memory with its GPU, by that of the host',
      cell('a', cold(20), [gpu(90, { unified_memory: true })], { total: 100, used: 0 }),
      [cell('b', cold(20), [gpu(70)])],
    ],
    ['of which nobody knows', cell('a', cold(20), [gpu(null)]), [cell('b', cold(20), [gpu(80)])]],
    [
      'where others go for it',
      cell('a', cold(20), [gpu(80)]),
      [cell('b', cold(20, 'it needs 20 bytes'), [gpu(80)])],
    ],
  ] as const)
    t.test(title, async t => {
      t.equal(placementOrder('m', [...others, best])[0], 'a')
      t.equal(placementOrder('m', [best, ...others])[0], 'a')
    })
})

t.test('a cell is none for a model', async t => {
  const order = placementOrder('m', [
    cell('failed', { state: 'failed' }),
    cell('another', { models: ['n'] }),
    { ...cell('away', {}), link: undefined },
    { ...cell('drained', {}), presence: 'draining' },
  ])
  t.strictSame(order, [])
})
