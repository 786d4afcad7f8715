import { wait as realWait, type Wait } from '../shared/wait.ts'
import type { Handle } from './services/link.ts'

/** Counts the answers that run, so that a stop can wait for them. */
interface Answers {
  /** Hands the request on. */
  handle: Handle
  /** Resolves when none runs. */
  waitUntilIdle(): Promise<void>
}

export const countAnswers = (handle: Handle): Answers => {
  let running = 0
  const waiting = new Set<() => void>()
  const onClose = (): void => {
    running--
    if (running > 0) return
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  return {
    handle: (request, response) => {
      running++
      response.once('close', onClose)
      handle(request, response)
    },
    waitUntilIdle: () =>
      running === 0 ? Promise.resolve() : new Promise(resolve => void waiting.add(resolve)),
  }
}

interface DrainOptions {
  /** Aborts when the daemon is to stop as soon as its answers have ended. */
  leave: AbortSignal
  /** Aborts when it is to stop at once. */
  signal: AbortSignal
  answers: Pick<Answers, 'waitUntilIdle'>
  /** Time limit for running answers to end. */
  drainSeconds: number
  wait?: Wait
}

/** A signal that aborts when the daemon has to let go: at once, or after its running answers. */
export const createStopSignal = (options: DrainOptions): AbortSignal => {
  const { leave, signal, answers, drainSeconds, wait = realWait } = options
  const stop = new AbortController()
  const end = (): void => stop.abort()
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  const drain = (): void =>
    void Promise.race([answers.waitUntilIdle(), wait(drainSeconds * 1000, stop.signal)]).then(end)
  if (leave.aborted) drain()
  leave.addEventListener('abort', drain, { once: true })
  return stop.signal
}
