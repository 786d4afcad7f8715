import type { Clock } from '../clock.ts'
import type { SpawnEngine } from '../engine-child.ts'
import type { MeasureOrder, ThroughputMeasurement } from '../protocol.ts'

/**
 * Lets an engine process of its own measure, and resolves once it is gone, so that the memory is
 * free again. Undefined when it could not, or not within the time.
 */
export const measureEngine = (
  order: MeasureOrder,
  { spawn, clock, life }: { spawn: SpawnEngine; clock: Clock; life: AbortSignal },
  timeoutSeconds: number,
): Promise<readonly ThroughputMeasurement[] | undefined> =>
  new Promise(resolve => {
    // The process would otherwise not be ended
    if (life.aborted) return resolve(undefined)
    let rows: readonly ThroughputMeasurement[] | undefined
    const child = spawn(Math.max(...order.slots), {
      onReply: reply => {
        if (reply.type === 'measured') rows = reply.rows
        child.kill()
      },
      onEnd: () => {
        callOff()
        life.removeEventListener('abort', end)
        resolve(rows)
      },
    })
    const end = (): void => child.kill()
    const callOff = clock.callAfter(timeoutSeconds * 1000, end)
    life.addEventListener('abort', end, { once: true })
    child.send(order)
  })
