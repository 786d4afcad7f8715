import type { EngineReport, GpuSample, Sample } from '../../../shared/wire/telemetry.ts'

/** Method that reduces the samples of a span to one value. */
type Aggregation = 'mean' | 'max'

/** Metrics kept as time series. Rows store values by position: append new metrics at the end. */
export const METRICS = {
  cpu_percent: 'mean',
  memory_used_percent: 'mean',
  disk_used_percent: 'max',
  network_received_bytes_per_second: 'mean',
  network_sent_bytes_per_second: 'mean',
  /** Mean of the GPUs. */
  gpu_percent: 'mean',
  /** Value of the fullest GPU: free memory on the others does not help it. */
  vram_used_percent: 'max',
  /** Sum of the GPUs. */
  vram_used_bytes: 'max',
  gpu_temperature_celsius: 'max',
  /** Sum of the GPUs. */
  gpu_power_watts: 'mean',
  slots_busy_percent: 'mean',
  queued: 'max',
} as const satisfies Record<string, Aggregation>

export type CellMetric = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as CellMetric[]

/** The value of each metric in one sample; null where it is unknown, and 0 only where it is 0. */
export const metricsOf = ({ host, gpus, engines }: Sample): Record<CellMetric, number | null> => ({
  cpu_percent: host.cpu_percent,
  memory_used_percent: usedPercentOf(host.memory_used_bytes, host.memory_total_bytes),
  disk_used_percent: usedPercentOf(host.disk_used_bytes, host.disk_total_bytes),
  network_received_bytes_per_second: host.network_received_bytes_per_second,
  network_sent_bytes_per_second: host.network_sent_bytes_per_second,
  gpu_percent: mean(gpus.map(gpu => gpu.utilization_percent)),
  vram_used_percent: max(gpus.map(vramPercent)),
  vram_used_bytes: sum(ownMemories(gpus).map(gpu => gpu.vram_used_bytes)),
  gpu_temperature_celsius: max(gpus.map(gpu => gpu.temperature_celsius)),
  gpu_power_watts: sum(gpus.map(gpu => gpu.power_watts)),
  slots_busy_percent: slotsPercent(engines),
  queued: sum(engines.map(engine => engine.queued)),
})

/** 100 * part / whole, 0 to 100; unknown unless both are known and there is a whole. */
export const usedPercentOf = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null || whole <= 0 ? null : Math.min(100, (100 * part) / whole)

export const vramPercent = (gpu: GpuSample): number | null =>
  usedPercentOf(gpu.vram_used_bytes, gpu.vram_total_bytes)

/** One entry per memory: GPUs that use the host's share one. */
export const ownMemories = (gpus: GpuSample[]): GpuSample[] =>
  gpus.filter(
    (gpu, index) => !gpu.unified_memory || gpus.findIndex(other => other.unified_memory) === index,
  )

/** Percentage of busy slots among the loaded engines; null when none is loaded. */
export const slotsPercent = (engines: EngineReport[]): number | null => {
  const loaded = engines.filter(engine => engine.state === 'ready')
  const slots = sum(loaded.map(engine => engine.slots))
  return usedPercentOf(sum(loaded.map(engine => engine.slots_busy)), slots)
}

const filterKnown = (values: (number | null)[]): number[] => values.filter(value => value !== null)

export const sum = (values: (number | null)[]): number | null => {
  const present = filterKnown(values)
  return present.length === 0 ? null : present.reduce((total, value) => total + value, 0)
}

/** Mean of the known values; null when there are none. */
export const mean = (values: (number | null)[]): number | null => {
  const total = sum(values)
  return total === null ? null : total / filterKnown(values).length
}

const max = (values: (number | null)[]): number | null => {
  const present = filterKnown(values)
  return present.length === 0 ? null : Math.max(...present)
}
