import { setTimeout as sleep } from 'node:timers/promises'
import { type GpuReading, type GpuSampler, noGpus } from './sampler.ts'

/** Time after which a silent sampler counts as waiting for its driver. */
export const GPU_WAIT_MS = 5000

/** Starts a sampler, and resolves with its first reading that has a GPU; without one after the wait. */
export const readFirst = async (sampler: GpuSampler, signal: AbortSignal): Promise<GpuReading> => {
  sampler.start(signal)
  const deadline = performance.now() + GPU_WAIT_MS
  for (;;) {
    const reading = sampler.sample()
    if (reading.gpus.length > 0 || sampler === noGpus || performance.now() > deadline)
      return reading
    await sleep(50)
  }
}
