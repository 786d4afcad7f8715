import type { Wait } from '../../shared/wait.ts'
import { followChild } from './follow.ts'
import { type GpuObservation, LatestReadings } from './latest-readings.ts'
import type { GpuSampler } from './sampler.ts'
import { bytes, MIB, percent, quantity } from './values.ts'

interface NvidiaOptions {
  /** Path of nvidia-smi. */
  command: string
  intervalSeconds: number
  wait?: Wait
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

/**
 * The queried fields (`nvidia-smi --help-query-gpu`). The name is last, as it may contain a comma.
 * Memory is in MiB, power in watts, clocks in MHz. Drivers since 450 support all of them.
 */
const FIELDS = [
  'index',
  'uuid',
  'driver_version',
  'memory.total',
  'memory.used',
  'utilization.gpu',
  'temperature.gpu',
  'power.draw',
  'clocks.gr',
  'clocks.mem',
  'mig.mode.current',
  'name',
]

/** NVIDIA GPUs, by one long-lived nvidia-smi that prints a row per GPU each interval. */
export const nvidiaSampler = (options: NvidiaOptions): GpuSampler => {
  const { command, intervalSeconds, wait, now } = options
  const periodMs = intervalSeconds * 1000
  const latest = new LatestReadings(periodMs, now)
  const onLine = (line: string) => {
    const seen = parseRow(line)
    if (seen) latest.put(seen)
    else latest.complain(line.slice(0, 300))
  }
  return {
    start: signal =>
      void followChild({
        command,
        args: [
          `--query-gpu=${FIELDS.join(',')}`,
          '--format=csv,noheader,nounits',
          `--loop=${Math.max(1, Math.round(intervalSeconds))}`,
        ],
        onLine,
        onEnd: reason => latest.complain(reason),
        silenceMs: 4 * periodMs,
        signal,
        ...(wait && { wait }),
      }),
    facts: () => latest.facts(),
    sample: () => latest.reading(),
  }
}

/** One row, or undefined for a line that is not a row, such as an error message. */
export const parseRow = (line: string): GpuObservation | undefined => {
  const [index, id, driver, total, used, busy, heat, power, clock, memoryClock, mig, ...name] =
    line.split(', ')
  if (index === undefined || !/^\d{1,3}$/.test(index) || name.length === 0 || !id) return undefined
  const common = {
    index: Number(index),
    id: id.slice(0, 128),
    vram_total_bytes: bytes(total, MIB),
    unified_memory: UNIFIED.test(name.join(', ')),
  }
  return {
    facts: {
      ...common,
      name: name.join(', ').slice(0, 256),
      vendor: 'nvidia',
      driver: driver !== undefined && /^\d/.test(driver) ? driver.slice(0, 128) : null,
    },
    sample: {
      ...common,
      vram_used_bytes: bytes(used, MIB),
      utilization_percent: percent(busy),
      temperature_celsius: quantity(heat),
      power_watts: quantity(power),
      clock_mhz: quantity(clock),
      memory_clock_mhz: quantity(memoryClock),
      ...(isMode(mig) && { mig_enabled: mig === 'Enabled' }),
    },
  }
}

/** Anything else means that the GPU cannot be cut. */
const isMode = (text: string | undefined): boolean => text === 'Enabled' || text === 'Disabled'

/** Chips whose GPU uses the host's memory; nvidia-smi answers [N/A] for theirs. */
const UNIFIED = /\b(GB10|Thor|Orin|Xavier|Tegra)\b/i
