import { ShoalError } from '../../../shared/errors.ts'

/** Queue per id: work on an id waits for earlier work on the same id. */
interface KeyedQueue {
  /**
   * Throws `rate_limited` when too many calls are waiting, and `client_closed` when the signal
   * aborts while waiting.
   */
  run<T>(id: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

const RETRY_AFTER_SECONDS = 5

export const oneAtATime = (maxWaiting: number): KeyedQueue => {
  const lines = new Map<string, (() => void)[]>()

  const wait = (id: string, signal: AbortSignal): Promise<void> | undefined => {
    const line = lines.get(id)
    if (line === undefined) {
      lines.set(id, [])
      return undefined
    }
    if (line.length >= maxWaiting)
      throw new ShoalError('rate_limited', `${maxWaiting} messages wait in it already`, {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        line.splice(line.indexOf(begin), 1)
        reject(new ShoalError('client_closed', 'the caller disconnected', { cause: signal.reason }))
      }
      const begin = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      line.push(begin)
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
    })
  }

  const next = (id: string): void => {
    const begin = lines.get(id)?.shift()
    if (begin === undefined) lines.delete(id)
    else begin()
  }

  return {
    run: async (id, signal, work) => {
      await wait(id, signal)
      try {
        return await work()
      } finally {
        next(id)
      }
    },
  }
}
