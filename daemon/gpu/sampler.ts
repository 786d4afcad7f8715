import type { GpuFacts } from '../../shared/wire/announce.ts'
import type { GpuSample } from '../../shared/wire/telemetry.ts'

/** Watches the GPUs of one vendor. Neither call ever waits for the driver. */
export interface GpuSampler {
  /** Begins to watch; the signal ends it. */
  start(signal: AbortSignal): void
  /** The GPUs seen so far. */
  facts(): GpuFacts[]
  /** Latest values; unknown ones are null, and `reason` explains why something is missing. */
  sample(): GpuReading
}

export interface GpuReading {
  gpus: GpuSample[]
  reason?: string
  /** Time of the oldest value, in milliseconds of a monotonic clock. */
  takenAt?: number
}

/** Sampler for a cell without a supported GPU. */
export const noGpus: GpuSampler = { start: () => {}, facts: () => [], sample: () => ({ gpus: [] }) }

/** A GPU of which nothing but its size is known. */
export const unknownSample = (facts: GpuFacts): GpuSample => ({
  index: facts.index,
  id: facts.id,
  utilization_percent: null,
  vram_total_bytes: facts.vram_total_bytes,
  vram_used_bytes: null,
  temperature_celsius: null,
  power_watts: null,
  clock_mhz: null,
  unified_memory: facts.unified_memory,
})

/** Several vendors in one cell. */
export const combineSamplers = (samplers: GpuSampler[]): GpuSampler => ({
  start: signal => {
    for (const sampler of samplers) sampler.start(signal)
  },
  facts: () => samplers.flatMap(sampler => sampler.facts()),
  sample: () => {
    const readings = samplers.map(sampler => sampler.sample())
    const reasons = readings.flatMap(({ reason }) => reason ?? [])
    const times = readings.flatMap(({ takenAt }) => takenAt ?? [])
    return {
      gpus: readings.flatMap(({ gpus }) => gpus),
      ...(reasons.length > 0 && { reason: reasons.join('; ') }),
      ...(times.length > 0 && { takenAt: Math.min(...times) }),
    }
  },
})
