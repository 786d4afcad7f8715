import type { EngineReport, HostSample, Sample } from '../../shared/wire/telemetry.ts'
import type { GpuSampler } from '../gpu/sampler.ts'
import type { Service } from '../service.ts'
import type { Uplink } from '../uplink/uplink.ts'

interface TelemetryOptions {
  uplink: Pick<Uplink, 'offer' | 'countDropped' | 'onReady'>
  gpus: Pick<GpuSampler, 'sample'>
  host: { sample(): Promise<HostSample> }
  engines: () => EngineReport[]
  /** Calls the listener when the engines have changed. */
  onChange: (listener: () => void) => () => void
  intervalSeconds: number
  /** Unix time in milliseconds. */
  now?: () => number
  /** Schedules one call; the returned function cancels it. */
  callAfter?: (milliseconds: number, call: () => void) => () => void
}

/** Window in which changes are combined into one sample. */
const GATHER_MS = 100

const realAfter = (milliseconds: number, call: () => void): (() => void) => {
  const timer = setTimeout(call, milliseconds)
  return () => clearTimeout(timer)
}

export interface TelemetryService extends Service {
  /** Applies from the next sample on, which follows within the new interval. */
  setIntervalSeconds(seconds: number): void
}

/** Takes a sample every interval, and soon after a connect or a change of the engines. */
export const telemetryService = (options: TelemetryOptions): TelemetryService => {
  let { intervalSeconds } = options
  let intervalChanged = () => {}
  return {
    name: 'telemetry',
    setIntervalSeconds: seconds => {
      if (seconds === intervalSeconds) return
      intervalSeconds = seconds
      intervalChanged()
    },
    start: async ({ signal, fail }) => {
      const { uplink, onChange, callAfter: after = realAfter } = options
      let cancel = () => {}
      let hurried = false

      const tick = async (): Promise<void> => {
        hurried = false
        cancel = after(intervalSeconds * 1000, run)
        const sample = await takeSample(options)
        if (!signal.aborted) uplink.offer(sample)
      }
      const run = () => void tick().catch(fail)
      const hurry = () => {
        if (hurried) return
        hurried = true
        cancel()
        cancel = after(GATHER_MS, run)
      }

      intervalChanged = () => {
        if (hurried || signal.aborted) return
        cancel()
        cancel = after(intervalSeconds * 1000, run)
      }
      const undo = [onChange(hurry), uplink.onReady(hurry)]
      signal.addEventListener('abort', () => {
        for (const off of undo) off()
        cancel()
      })
      run()
    },
  }
}

export const takeSample = async (options: TelemetryOptions): Promise<Sample> => {
  const { uplink, gpus, host, engines, now = Date.now } = options
  const hostSample = await host.sample()
  const { gpus: gpuSamples, reason } = gpus.sample()
  return {
    taken_at: now(),
    host: hostSample,
    gpus: gpuSamples,
    ...(reason !== undefined && { gpu_reason: reason.slice(0, 500) }),
    engines: engines(),
    spool_dropped: uplink.countDropped(),
  }
}
