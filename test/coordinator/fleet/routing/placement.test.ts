import t from 'tap'
import { type Cell, newCell, resolveEngines } from '../../../../coordinator/fleet/cells/cell.ts'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { type CellEngine, claim } from '../../../../coordinator/fleet/routing/engine.ts'
import { Router } from '../../../../coordinator/fleet/routing/router.ts'
import type { EngineReport, GpuSample } from '../../../../shared/wire/telemetry.ts'
import { engine, gpu, sampleOf } from '../series/samples.ts'

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

/** Cell that gets the first request for the model. */
const choice = (cells: readonly Cell[]): string | undefined => {
  const router = new Router()
  for (const each of cells) router.update(each.id, resolveEngines(each))
  return router.pick('m')?.cellId
}

t.test('the cell chosen for a model is the one', async t => {
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
    [
      'that may use more of its memory',
      cell('a', { ...cold(20), memory_limit_percent: 95 }, [gpu(50)]),
      [cell('b', { ...cold(20), memory_limit_percent: 60 }, [gpu(50)])],
    ],
    ['of which nobody knows', cell('a', cold(20), [gpu(null)]), [cell('b', cold(20), [gpu(80)])]],
    [
      'where others go for it',
      cell('a', cold(20), [gpu(80)]),
      [cell('b', cold(20, 'it needs 20 bytes'), [gpu(80)])],
    ],
  ] as const)
    t.test(title, async t => {
      t.equal(choice([...others, best]), 'a')
      t.equal(choice([best, ...others]), 'a')
    })
})

t.test('an unusable cell is not chosen for a model', async t => {
  const found = choice([
    cell('failed', { state: 'failed' }),
    cell('another', { models: ['n'] }),
    { ...cell('away', {}), link: undefined },
    { ...cell('drained', {}), presence: 'draining' },
  ])
  t.equal(found, undefined)
})

t.test('models are placed in a large fleet', async t => {
  const fleet = (reportOf: (n: number) => Partial<EngineReport>) => {
    const router = new Router()
    for (let n = 0; n < 2000; n++) {
      const each = cell(`c${n}`, reportOf(n), [gpu(50)])
      router.update(each.id, resolveEngines(each))
    }
    return router
  }
  t.test('a model that three cells have loaded is not loaded on a fourth', async t => {
    const router = fleet(n => (n % 700 === 5 ? {} : cold(20)))
    const chosen = new Set(Array.from({ length: 300 }, () => router.pick('m')?.cellId))
    t.strictSame([...chosen].toSorted(), ['c1405', 'c5', 'c705'])
  })

  t.test('a model that no cell has loaded is loaded on one until that cell is full', async t => {
    const router = fleet(() => cold(20))
    const chosen: CellEngine[] = []
    for (let n = 0; n < 100; n++) {
      const engine = router.pick('m') as CellEngine
      claim(engine, 0)
      chosen.push(engine)
    }
    const [first] = chosen
    const places = chosen.filter(engine => engine === first).length
    t.ok(places > 5, `${places} on the first`)
    t.equal(new Set(chosen).size, Math.ceil(100 / places))
  })
})
