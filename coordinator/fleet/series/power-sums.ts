import { type Buckets, metricOf } from './bucket.ts'

/** Power of the GPUs of several cells within one hour. */
interface PowerHour {
  /** Sum of the mean powers of the cells. */
  wattHours: number
  /** Cells whose power was measured. */
  cells: number
}

/** Sums by the beginning of the hour, Unix milliseconds. */
export type PowerHours = ReadonlyMap<number, PowerHour>

/** Adds up the power of cells by the hour. */
export class PowerSums {
  readonly #hours = new Map<number, PowerHour>()

  get hours(): PowerHours {
    return this.#hours
  }

  /** Adds the buckets of one cell, each of an hour; with the sign -1, takes them away. */
  add(buckets: Buckets, sign: 1 | -1 = 1): void {
    for (const [at, bucket] of buckets) {
      const watts = metricOf(bucket, 'gpu_power_watts')
      if (watts === null) continue
      const { wattHours, cells } = this.#hours.get(at) ?? NOTHING
      this.#hours.set(at, { wattHours: wattHours + sign * roundWatts(watts), cells: cells + sign })
    }
  }
}

export interface Energy {
  wattHours: number
  /** Hours with a measurement, over all cells. */
  cellHours: number
}

/**
 * Adds up the hours from a time on. Samples stay in memory for up to half an hour before they are
 * stored: an hour that more cells have in memory than in the store is taken from memory.
 */
export const sumEnergy = (stored: PowerHours, memory: PowerSums, from: number): Energy => {
  const hours = new Map(stored)
  for (const [at, hour] of memory.hours)
    if (at >= from && hour.cells > (hours.get(at)?.cells ?? 0)) hours.set(at, hour)
  const sum: Energy = { wattHours: 0, cellHours: 0 }
  for (const { wattHours, cells } of hours.values()) {
    sum.wattHours += wattHours
    sum.cellHours += cells
  }
  return sum
}

const NOTHING: PowerHour = { wattHours: 0, cells: 0 }

/** Rounds as a stored bucket is rounded, so that what is taken away is what was added. */
const roundWatts = (watts: number): number => Math.round(watts * 1000) / 1000
