import { parseArgs } from 'node:util'
import type { CellLink } from '../coordinator/fleet/cells/cell-link.ts'
import { type CellEngine, claim, release } from '../coordinator/fleet/routing/engine.ts'
import { Router } from '../coordinator/fleet/routing/router.ts'
import { hash32 } from '../coordinator/kernel/base/hash32.ts'
import { type ReportRow, report } from './measure.ts'

/**
 * Cost of choosing among 10 and among 10,000 cells: by power of two choices, by prefix affinity and
 * after a failed first choice; and cost of a cell that joins or leaves.
 *
 *   npm run bench -- routing [--picks 500000]
 */
export const main = async (argv: string[]): Promise<void> => {
  const options = { picks: { type: 'string', default: '500000' } } as const
  const picks = Number(parseArgs({ args: argv, options }).values.picks)
  const rows = [10, 100, 1000, 10_000].map(cells => row(cells, picks))
  report('routing', { picks }, rows)
}

const MODEL = 'm'

const fleetOf = (cells: number) => {
  const router = new Router()
  const engines = Array.from({ length: cells }, (_, i): CellEngine => {
    const trail = { level: Math.random(), atMs: performance.now() }
    const counts = { slots: 8, queue: 16, inFlight: 0, others: i % 5, fullUntilMs: 0 }
    return { cellId: `cell_${i}`, link: {} as CellLink, ready: true, ...counts, trail }
  })
  for (const engine of engines) router.update(engine.cellId, new Map([[MODEL, engine]]))
  return { router, engines }
}

const row = (cells: number, picks: number): ReportRow => {
  const { router, engines } = fleetOf(cells)
  const places = Array.from({ length: 4096 }, (_, i) => hash32(`conversation ${i}`))
  const tried = new Set([engines[0]?.cellId ?? ''])
  // as many requests under way as half of the slots
  const busy = Array.from({ length: cells * 4 }, () => router.pick(MODEL) as CellEngine)
  for (const engine of busy) claim(engine, performance.now())
  return {
    cells,
    two_choices_ns: nanoseconds(picks, () => pickEngine(router)),
    affinity_ns: nanoseconds(picks, i => pickEngine(router, places[i % 4096])),
    second_try_ns: nanoseconds(picks, () => router.pick(MODEL, tried)),
    claim_release_ns: nanoseconds(picks, i => {
      const engine = engines[i % cells] as CellEngine
      claim(engine, performance.now())
      release(engine)
    }),
    join_and_leave_ns: nanoseconds(10_000, i => {
      const engine = engines[i % cells] as CellEngine
      router.update(engine.cellId, new Map())
      router.update(engine.cellId, new Map([[MODEL, engine]]))
      router.pick(MODEL, undefined, { affinity: places[i % 4096] })
    }),
  }
}

const pickEngine = (router: Router, affinity?: number): CellEngine | undefined =>
  router.pick(MODEL, undefined, { affinity })

/** CPU time of one call after a warm-up; wall time means little on a busy machine. */
const nanoseconds = (calls: number, run: (i: number) => unknown): number => {
  for (let i = 0; i < calls / 10; i++) run(i)
  const before = process.cpuUsage()
  for (let i = 0; i < calls; i++) run(i)
  return Math.round((process.cpuUsage(before).user * 1000) / calls)
}
