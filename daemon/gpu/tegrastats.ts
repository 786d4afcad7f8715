import type { Wait } from '../../shared/wait.ts'
import { followChild } from './follow.ts'
import { type GpuObservation, LatestReadings } from './latest-readings.ts'
import type { GpuSampler } from './sampler.ts'
import { bytes, MIB, percent, quantity } from './values.ts'

interface TegrastatsOptions {
  /** Path of tegrastats. */
  command: string
  /** The board, as its device tree calls it. */
  board: string
  intervalSeconds: number
  wait?: Wait
  now?: () => number
}

/** A Jetson board, by one long-lived tegrastats. Its GPU shares the host's memory. */
export const jetsonSampler = (options: TegrastatsOptions): GpuSampler => {
  const { command, board, intervalSeconds, wait, now } = options
  const periodMs = intervalSeconds * 1000
  const latest = new LatestReadings(periodMs, now)
  return {
    start: signal =>
      void followChild({
        command,
        args: ['--interval', String(periodMs)],
        onLine: line => {
          const seen = parseTegrastats(line, board)
          if (seen) latest.put(seen)
          else latest.complain(line.slice(0, 300))
        },
        onEnd: reason => latest.complain(reason),
        silenceMs: 4 * periodMs,
        signal,
        ...(wait && { wait }),
      }),
    facts: () => latest.facts(),
    sample: () => latest.reading(),
  }
}

/**
 * One line of tegrastats (NVIDIA Jetson Linux Developer Guide, "tegrastats utility"), for instance
 * `RAM 2448/7620MB … GR3D_FREQ 12%@[305] … gpu@45.4C … VDD_GPU_SOC 1000mW/1000mW`.
 */
export const parseTegrastats = (line: string, board: string): GpuObservation | undefined => {
  const memory = /\bRAM (\d+)\/(\d+)MB/.exec(line)
  if (memory === null) return undefined
  const engine = /\bGR3D_FREQ (\d+)%(?:@\[?(\d+))?/.exec(line)
  const milliwatts = quantity(/\b(?:VDD_GPU(?:_SOC)?|POM_5V_GPU) (\d+)(?:mW)?\//.exec(line)?.[1])
  const memoryClock = quantity(/\bEMC_FREQ \d+%@(\d+)/.exec(line)?.[1])
  const common = {
    index: 0,
    id: 'jetson-gpu',
    vram_total_bytes: bytes(memory[2], MIB),
    unified_memory: true,
  }
  return {
    facts: { ...common, name: board, vendor: 'jetson', driver: null },
    sample: {
      ...common,
      vram_used_bytes: bytes(memory[1], MIB),
      utilization_percent: percent(engine?.[1]),
      temperature_celsius: quantity(/\bgpu@(-?\d+(?:\.\d+)?)C/i.exec(line)?.[1]),
      power_watts: milliwatts === null ? null : milliwatts / 1000,
      clock_mhz: quantity(engine?.[2]),
      ...(memoryClock !== null && { memory_clock_mhz: memoryClock }),
    },
  }
}
