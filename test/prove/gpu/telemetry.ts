import type { GpuSampler } from '../../../daemon/gpu/sampler.ts'
import type { GpuSample } from '../../../shared/wire/telemetry.ts'

const PERIOD_MS = 250

/** Highest values of the telemetry of all GPUs together, of which each null is unknown. */
export interface GpuPeaks {
  usedBytes: number | null
  utilizationPercent: number | null
  powerWatts: number | null
  temperatureCelsius: number | null
}

/** Watches a running sampler until it is stopped. */
export const watchPeaks = (sampler: Pick<GpuSampler, 'sample'>): { stop: () => GpuPeaks } => {
  const peaks: GpuPeaks = {
    ...{ usedBytes: null, utilizationPercent: null },
    ...{ powerWatts: null, temperatureCelsius: null },
  }
  const look = (): void => raise(peaks, sampler.sample().gpus)
  const timer = setInterval(look, PERIOD_MS)
  return {
    stop: () => {
      clearInterval(timer)
      look()
      return peaks
    },
  }
}

const raise = (peaks: GpuPeaks, gpus: readonly GpuSample[]): void => {
  peaks.usedBytes = higher(peaks.usedBytes, sum(gpus, 'vram_used_bytes'))
  peaks.powerWatts = higher(peaks.powerWatts, sum(gpus, 'power_watts'))
  for (const { utilization_percent, temperature_celsius } of gpus) {
    peaks.utilizationPercent = higher(peaks.utilizationPercent, utilization_percent)
    peaks.temperatureCelsius = higher(peaks.temperatureCelsius, temperature_celsius)
  }
}

const higher = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b)

/** Null where no GPU reports the value. */
export const sum = (
  gpus: readonly GpuSample[],
  key: 'vram_used_bytes' | 'power_watts',
): number | null => {
  const values = gpus.map(gpu => gpu[key]).filter(value => value !== null)
  return values.length === 0 ? null : values.reduce((total, value) => total + value, 0)
}
