import { parseArgs } from 'node:util'
import type { CellLink } from '../coordinator/fleet/cells/cell-link.ts'
import {
  type CellEngine,
  claim,
  isOpen,
  load,
  release,
} from '../coordinator/fleet/routing/engine.ts'
import { Router } from '../coordinator/fleet/routing/router.ts'
import { createTrails } from '../coordinator/fleet/routing/trails.ts'
import { type Random, randomOf } from '../test/support/random.ts'
import { percentile, type ReportRow, report, round } from './measure.ts'

/**
 * Latency with one slow cell among eight: the coordinator's own router with and without trails,
 * against a balancer that takes the least busy cell. The cells are stand-ins in simulated time: four
 * slots each and 12 ms per token, the slow one several times that; a request has 20 to 400 tokens.
 *
 *   npm run bench -- trails [--requests 100000]
 */
export const main = async (argv: string[]): Promise<void> => {
  const options = { requests: { type: 'string', default: '100000' } } as const
  const requests = Number(parseArgs({ args: argv, options }).values.requests)
  const rows: ReportRow[] = []
  for (const slowness of [1, 2, 4, 8])
    for (const used of [0.3, 0.6, 0.9])
      for (const policy of Object.keys(POLICIES) as Policy[])
        rows.push(simulate(policy, { slowness, used, requests }))
  report('trails', { requests, cells: CELLS, slots: SLOTS }, rows)
}

const MODEL = 'm'
const CELLS = 8
const SLOTS = 4
const MS_PER_TOKEN = 12
const MEAN_TOKENS = 210

type Policy = 'least busy' | 'two choices' | 'two choices, trails'

interface Bed {
  router: Router
  engines: readonly CellEngine[]
  random: Random
  nowMs: () => number
}

const pickFromRouter = ({ router }: Bed): CellEngine | undefined => router.pick(MODEL)

/** The engine with the fewest requests per slot; among equal ones a random one. */
const pickLeastBusy = ({ engines, random, nowMs }: Bed): CellEngine | undefined => {
  const open = engines.filter(engine => isOpen(engine, nowMs()))
  const least = Math.min(...open.map(load))
  const best = open.filter(engine => load(engine) === least)
  return best.length === 0 ? undefined : random.pick(best)
}

const POLICIES: Record<Policy, { pick: typeof pickFromRouter; hasTrails: boolean }> = {
  'least busy': { pick: pickLeastBusy, hasTrails: false },
  'two choices': { pick: pickFromRouter, hasTrails: false },
  'two choices, trails': { pick: pickFromRouter, hasTrails: true },
}

interface Asked {
  arrivedMs: number
  tokens: number
}

interface Scene {
  /** Time per token of the slow cell, in that of the others. */
  slowness: number
  /** Arriving work as a part of what all slots together do. */
  used: number
  requests: number
}

/** A cell that serves as many requests as it has slots; the others wait in their order. */
interface StandIn {
  engine: CellEngine
  msPerToken: number
  running: (Asked & { sentMs: number; endsMs: number })[]
  waiting: (Asked & { sentMs: number })[]
}

const simulate = (policy: Policy, { slowness, used, requests }: Scene): ReportRow => {
  let nowMs = 0
  const random = randomOf(1)
  const router = new Router(random.randomFraction, () => nowMs)
  const trails = createTrails(() => nowMs)
  const cells = Array.from({ length: CELLS }, (_, n): StandIn => {
    const counts = { slots: SLOTS, inFlight: 0, others: 0, fullUntilMs: 0 }
    const engine = { cellId: `cell_${n}`, link: {} as CellLink, ready: true, ...counts }
    const msPerToken = MS_PER_TOKEN * (n === 0 ? slowness : 1)
    return { engine, msPerToken, running: [], waiting: [] }
  })
  for (const { engine } of cells) router.update(engine.cellId, new Map([[MODEL, engine]]))
  const bed: Bed = {
    router,
    engines: cells.map(({ engine }) => engine),
    random,
    nowMs: () => nowMs,
  }
  const byEngine = new Map(cells.map(cell => [cell.engine, cell]))
  const { pick, hasTrails } = POLICIES[policy]
  const latenciesMs: number[] = []
  const queue: Asked[] = []
  let atSlow = 0

  const start = (cell: StandIn): void => {
    const next = cell.running.length < SLOTS ? cell.waiting.shift() : undefined
    if (next === undefined) return
    // engines are not equally fast each time
    const ms = next.tokens * cell.msPerToken * (0.8 + 0.4 * random.randomFraction())
    cell.running.push({ ...next, endsMs: nowMs + ms })
  }
  const send = (): void => {
    while (queue.length > 0) {
      const engine = pick(bed)
      if (engine === undefined) return
      const cell = byEngine.get(engine) as StandIn
      claim(engine, nowMs)
      if (cell === cells[0]) atSlow++
      cell.waiting.push({ ...(queue.shift() as Asked), sentMs: nowMs })
      start(cell)
    }
  }
  const end = (cell: StandIn, served: StandIn['running'][number]): void => {
    cell.running.splice(cell.running.indexOf(served), 1)
    release(cell.engine)
    latenciesMs.push(nowMs - served.arrivedMs)
    const timing = { durationMs: nowMs - served.sentMs, tokens: served.tokens }
    if (hasTrails) trails.deposit(cell.engine, MODEL, timing)
    start(cell)
  }

  const slotsPerMs = cells.reduce((sum, cell) => sum + SLOTS / cell.msPerToken, 0)
  const meanGapMs = MEAN_TOKENS / (slotsPerMs * used)
  let [arrived, nextArrivalMs] = [0, 0]
  while (latenciesMs.length < requests) {
    const first = findFirst(cells)
    if (arrived < requests && nextArrivalMs <= (first?.served.endsMs ?? Infinity)) {
      nowMs = nextArrivalMs
      queue.push({ arrivedMs: nowMs, tokens: 20 + random.randomBelow(381) })
      nextArrivalMs += -Math.log(1 - random.randomFraction()) * meanGapMs
      arrived++
    } else if (first !== undefined) {
      nowMs = first.served.endsMs
      end(first.cell, first.served)
    }
    send()
  }
  return {
    'slow cell': slowness === 1 ? 'none' : `${slowness} times`,
    'slots used %': 100 * used,
    policy,
    'p50 s': round(percentile(latenciesMs, 50) / 1000),
    'p99 s': round(percentile(latenciesMs, 99) / 1000),
    'mean s': Math.round(latenciesMs.reduce((sum, ms) => sum + ms, 0) / latenciesMs.length) / 1000,
    'requests at the slow cell %': round((100 * atSlow) / requests),
  }
}

const findFirst = (cells: readonly StandIn[]) => {
  let first: { cell: StandIn; served: StandIn['running'][number] } | undefined
  for (const cell of cells)
    for (const served of cell.running)
      if (first === undefined || served.endsMs < first.served.endsMs) first = { cell, served }
  return first
}
