import { NO_FLOAT_DAYS } from './critical-path.ts'
import type { Network } from './network.ts'
import { Random } from './random.ts'
import {
  createQuantileTable,
  type Distribution,
  QUANTILE_CELLS,
  type ThreePoint,
} from './three-point.ts'

export interface SimulationInput {
  network: Network
  /** Estimates by the index of the task. */
  estimates: readonly ThreePoint[]
  distribution: Distribution
  runs: number
  /** Integer from 0 to 2^32 - 1. */
  seed: number
  /** Durations, in days, whose probability is wanted. */
  limits: readonly number[]
}

export const PERCENTILES = [50, 80, 90, 95] as const

export interface SimulationResult {
  meanDays: number
  deviationDays: number
  leastDays: number
  mostDays: number
  /** Durations that so many percent of the runs do not exceed, in the order of `PERCENTILES`. */
  percentilesDays: number[]
  /** Share of the runs that do not exceed each limit, from 0 to 1. */
  probabilities: number[]
  /** Share of the runs in which each task is critical, from 0 to 1. */
  criticality: Float64Array
}

/** Runs that are computed together: a pass over links then reads adjacent numbers. */
const LANES = 64

/**
 * Monte Carlo simulation of a network (Van Slyke, 1963). Each run draws all durations and computes
 * the critical path. Durations are drawn in the order of the tasks in the input, so that a changed
 * link does not change them.
 */
export const simulate = (input: SimulationInput): SimulationResult => {
  const { network, estimates, distribution, runs, seed } = input
  const random = new Random(seed)
  const tables = estimates.map(estimate => createQuantileTable(estimate, distribution))
  const lanes = new Lanes(network, tables)
  const durations = new Float64Array(runs)
  for (let first = 0; first < runs; first += LANES)
    lanes.run(random, durations.subarray(first, first + LANES))
  return summarize(durations.sort(), lanes.criticalRuns, input)
}

/** Some runs side by side: the value of task `t` in lane `l` is at `t * LANES + l`. */
class Lanes {
  readonly criticalRuns: Uint32Array
  readonly #network: Network
  readonly #tables: readonly Float64Array[]
  readonly #draws = new Float64Array(LANES)
  readonly #days: Float64Array
  readonly #early: Float64Array
  readonly #late: Float64Array
  readonly #end = new Float64Array(LANES)

  constructor(network: Network, tables: readonly Float64Array[]) {
    this.#network = network
    this.#tables = tables
    this.criticalRuns = new Uint32Array(tables.length)
    this.#days = new Float64Array(tables.length * LANES)
    this.#early = new Float64Array(tables.length * LANES)
    this.#late = new Float64Array(tables.length * LANES)
  }

  /** Writes the duration of the project in each run to `ends`. */
  run(random: Random, ends: Float64Array): void {
    this.#drawDurations(random)
    this.#passForward()
    this.#passBackward()
    this.#countCritical(ends.length)
    ends.set(this.#end.subarray(0, ends.length))
  }

  #drawDurations(random: Random): void {
    const draws = this.#draws
    const days = this.#days
    this.#tables.forEach((table, task) => {
      random.fill(draws)
      const base = task * LANES
      for (let lane = 0; lane < LANES; lane++) {
        const place = (draws[lane] as number) * QUANTILE_CELLS
        const cell = place | 0
        const low = table[cell] as number
        days[base + lane] = low + (place - cell) * ((table[cell + 1] as number) - low)
      }
    })
  }

  #passForward(): void {
    const { from, to, leavesFinish, arrivesFinish, lags } = this.#network
    const days = this.#days
    const early = this.#early.fill(0)
    for (let at = 0; at < to.length; at++) {
      const [before, after] = [(from[at] as number) * LANES, (to[at] as number) * LANES]
      const [leaves, arrives] = [leavesFinish[at] as number, arrivesFinish[at] as number]
      const lag = lags[at] as number
      for (let lane = 0; lane < LANES; lane++) {
        const earliest =
          (early[before + lane] as number) +
          leaves * (days[before + lane] as number) -
          arrives * (days[after + lane] as number) +
          lag
        if (earliest > (early[after + lane] as number)) early[after + lane] = earliest
      }
    }
  }

  #passBackward(): void {
    const { from, to, leavesFinish, arrivesFinish, lags } = this.#network
    const days = this.#days
    const late = this.#late
    this.#findEnds()
    for (let at = to.length - 1; at >= 0; at--) {
      const [before, after] = [(from[at] as number) * LANES, (to[at] as number) * LANES]
      const [leaves, arrives] = [leavesFinish[at] as number, arrivesFinish[at] as number]
      const lag = lags[at] as number
      for (let lane = 0; lane < LANES; lane++) {
        const latest =
          (late[after + lane] as number) -
          leaves * (days[before + lane] as number) +
          arrives * (days[after + lane] as number) -
          lag
        if (latest < (late[before + lane] as number)) late[before + lane] = latest
      }
    }
  }

  /** Finds the end of the project in each lane, and the late start of tasks without a successor. */
  #findEnds(): void {
    const [days, early, late] = [this.#days, this.#early, this.#late]
    const end = this.#end.fill(0)
    for (let at = 0; at < days.length; at++) {
      const finish = (early[at] as number) + (days[at] as number)
      if (finish > (end[at % LANES] as number)) end[at % LANES] = finish
    }
    for (let at = 0; at < days.length; at++)
      late[at] = (end[at % LANES] as number) - (days[at] as number)
  }

  #countCritical(lanes: number): void {
    const [early, late, counts] = [this.#early, this.#late, this.criticalRuns]
    for (let task = 0; task < counts.length; task++) {
      let critical = 0
      for (let at = task * LANES; at < task * LANES + lanes; at++)
        if ((late[at] as number) - (early[at] as number) < NO_FLOAT_DAYS) critical++
      counts[task] = (counts[task] as number) + critical
    }
  }
}

const summarize = (
  sorted: Float64Array,
  criticalRuns: Uint32Array,
  { limits }: SimulationInput,
): SimulationResult => {
  const runs = sorted.length
  const mean = sorted.reduce((sum, days) => sum + days, 0) / runs
  const squares = sorted.reduce((sum, days) => sum + (days - mean) ** 2, 0)
  const rank = (percent: number) => sorted[Math.ceil((percent / 100) * runs) - 1] as number
  const isWithin = (limit: number) => (days: number) => days <= limit + NO_FLOAT_DAYS
  return {
    meanDays: mean,
    deviationDays: runs < 2 ? 0 : Math.sqrt(squares / (runs - 1)),
    leastDays: sorted[0] as number,
    mostDays: sorted[runs - 1] as number,
    percentilesDays: PERCENTILES.map(rank),
    probabilities: limits.map(limit => sorted.filter(isWithin(limit)).length / runs),
    criticality: Float64Array.from(criticalRuns, count => count / runs),
  }
}
