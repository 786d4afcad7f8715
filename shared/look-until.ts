import { type Runtime, systemRuntime, type Wait, waitBy } from './runtime.ts'

interface LookOptions {
  /** Pause between two looks. */
  everyMs: number
  /** Time after which no further look is begun. A slow look counts with all of its time. */
  timeoutMs: number
  signal: AbortSignal
  /** Clock and timers; those of the system by default. */
  runtime?: Pick<Runtime, 'nowMs' | 'setTimeout'> | undefined
  wait?: Wait | undefined
  /** Monotonic clock in milliseconds. */
  nowMs?: (() => number) | undefined
}

/**
 * Looks repeatedly until there is an answer: undefined when the time is over or the signal aborts.
 *
 * @param look gets the time since the first look, in milliseconds
 */
export const lookUntil = async <T>(
  look: (waitedMs: number) => Promise<T | undefined>,
  {
    everyMs,
    timeoutMs,
    signal,
    runtime = systemRuntime,
    wait = waitBy(runtime),
    nowMs = runtime.nowMs,
  }: LookOptions,
): Promise<T | undefined> => {
  for (let waitedMs = 0; ; ) {
    const beganMs = nowMs()
    const answer = await look(waitedMs)
    if (answer !== undefined || signal.aborted || waitedMs >= timeoutMs) return answer
    await wait(everyMs, signal)
    waitedMs += Math.max(everyMs, nowMs() - beganMs)
  }
}
