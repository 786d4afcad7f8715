import type { Cell } from './cell.ts'
import { mean, ownMemories, slotsPercent, sum, usedPercentOf } from './metrics.ts'
import { isPresent } from './presence.ts'

/** Utilisation of the fleet. Percentages are null while unknown. */
interface Utilization {
  /** Mean of the three percentages below that are known. */
  compositePercent: number | null
  /** Mean over the GPUs whose utilisation is known. */
  gpuPercent: number | null
  /** Percentage of GPU memory in use, over the memories whose use and size are known. */
  vramPercent: number | null
  /** Percentage of busy slots among the loaded engines. */
  slotsPercent: number | null
  /** Inference requests that were completed within the last hour. */
  itemsPerHour: number
  /** Cells that are up: ready, degraded or draining. */
  activeCells: number
  /** Engines of these cells that failed requests lately and are being probed. */
  unreliableEngines: number
}

type Seen = Pick<Cell, 'presence' | 'sample' | 'engines'>

export const utilizationOf = (cells: Iterable<Seen>, itemsPerHour: number): Utilization => {
  const active = [...cells].filter(cell => isPresent(cell.presence))
  const samples = active.flatMap(cell => cell.sample ?? [])
  const gpus = samples.flatMap(sample => sample.gpus)
  const memories = samples
    .flatMap(sample => ownMemories(sample.gpus))
    .filter(gpu => gpu.vram_used_bytes !== null && gpu.vram_total_bytes !== null)

  const gpuPercent = mean(gpus.map(gpu => gpu.utilization_percent))
  const vramPercent = usedPercentOf(
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
    unreliableEngines: active
      .flatMap(({ engines }) => [...engines.values()])
      .filter(({ health }) => health?.breaker.isClosed === false).length,
  }
}

/** Time for which a reading is reused while no cell joins or leaves. */
const REFRESH_MS = 60_000

export interface UtilizationMonitor {
  /** Returns the latest reading; `refreshedAt` is in Unix milliseconds. */
  read(): Utilization & { refreshedAt: number }
  /** Discards the latest reading; call it when a cell joins or leaves. */
  invalidate(): void
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
  const invalidate = (): void => {
    last = undefined
  }
  return { read, invalidate }
}
