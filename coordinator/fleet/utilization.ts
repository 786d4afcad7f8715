import type { Cell } from './cell.ts'
import { mean, ownMemories, percentOf, slotsPercent, sum } from './metrics.ts'
import { isPresent } from './presence.ts'

/** How busy the fleet is. Percentages are null while nothing is known of them. */
export interface Utilization {
  /** Mean of the three percentages below that are known. */
  compositePercent: number | null
  /** Mean over the GPUs whose utilisation is known. */
  gpuPercent: number | null
  /** Used of all, over the memories of which both are known. */
  vramPercent: number | null
  /** Busy of all slots of the loaded engines. */
  slotsPercent: number | null
  /** Inference requests that were completed within the last hour. */
  itemsPerHour: number
  /** Cells that are up: ready, degraded or draining. */
  activeCells: number
}

type Seen = Pick<Cell, 'presence' | 'sample'>

export const utilizationOf = (cells: Iterable<Seen>, itemsPerHour: number): Utilization => {
  const active = [...cells].filter(cell => isPresent(cell.presence))
  const samples = active.flatMap(cell => cell.sample ?? [])
  const gpus = samples.flatMap(sample => sample.gpus)
  const memories = samples
    .flatMap(sample => ownMemories(sample.gpus))
    .filter(gpu => gpu.vram_used_bytes !== null && gpu.vram_total_bytes !== null)

  const gpuPercent = mean(gpus.map(gpu => gpu.utilization_percent))
  const vramPercent = percentOf(
    sum(memories.map(gpu => gpu.vram_used_bytes)),
    sum(memories.map(gpu => gpu.vram_total_bytes)),
  )
  const busyPercent = slotsPercent(samples.flatMap(sample => sample.engines))
  return {
    compositePercent: mean([gpuPercent, vramPercent, busyPercent]),
    gpuPercent,
    vramPercent,
    slotsPercent: busyPercent,
    itemsPerHour,
    activeCells: active.length,
  }
}

/** How long an answer is good while no cell joins or leaves. */
const REFRESH_MS = 60_000

export interface UtilizationMonitor {
  /** `refreshedAt`: unix milliseconds. */
  read(): Utilization & { refreshedAt: number }
  /** A cell joined or left: the next reading is made anew. */
  changed(): void
}

export const createUtilizationMonitor = (parts: {
  cells: () => Iterable<Seen>
  itemsPerHour: () => number
  /** Unix time, milliseconds. */
  now: () => number
}): UtilizationMonitor => {
  const { cells, itemsPerHour, now } = parts
  let last: (Utilization & { refreshedAt: number }) | undefined

  const read = () => {
    const age = last === undefined ? Number.POSITIVE_INFINITY : now() - last.refreshedAt
    if (last === undefined || age >= REFRESH_MS || age < 0)
      last = { ...utilizationOf(cells(), itemsPerHour()), refreshedAt: now() }
    return last
  }
  const changed = (): void => {
    last = undefined
  }
  return { read, changed }
}
