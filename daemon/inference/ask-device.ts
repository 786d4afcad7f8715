import { bundledModels } from '../../models/bundled.ts'
import type { SpawnEngine } from './engine-child.ts'

export interface EngineDevice {
  /** `cuda`, `vulkan`, `metal` or `cpu`; undefined when the engine did not start. */
  device?: string
  /** Why it did not start. */
  reason?: string
}

/** Starts an engine process with the smallest bundled model, and ends it: which device does it take? */
export const askDevice = (spawn: SpawnEngine, signal: AbortSignal): Promise<EngineDevice> =>
  new Promise(resolve => {
    const [smallest] = bundledModels
      .filter(({ kind }) => kind === 'chat')
      .toSorted((a, b) => a.bytes - b.bytes)
    if (smallest === undefined) return resolve({ reason: 'no model is bundled' })
    let answer: EngineDevice | undefined
    const child = spawn(1, {
      onReply: reply => {
        if (reply.type === 'ready') answer = { device: reply.device }
        else if (reply.type === 'failed') answer = { reason: reply.reason }
        else return
        child.kill()
      },
      onEnd: how => {
        signal.removeEventListener('abort', child.kill)
        resolve(answer ?? { reason: `the engine ${how}` })
      },
    })
    signal.addEventListener('abort', child.kill, { once: true })
    const contextLength = 256
    child.send({
      ...{ type: 'load', file: smallest.file, kind: 'chat', slots: 1, threads: 1 },
      ...{ contextLength, gpu: 'auto' },
    })
  })
