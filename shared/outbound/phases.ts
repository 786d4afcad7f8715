import { SendError } from './send-error.ts'

/** The time limits of one request, one phase after another; the caller's signal ends any. */
export interface Phases {
  /** Begins the next phase, and the time that it may take. */
  begin(seconds: number): void
  /** Waits for a step of the phase. Throws SendError at the end of its time. */
  waitFor<T>(work: Promise<T>): Promise<T>
  /** Calls `run` at the end, or at once after it. */
  onEnd(run: (error: Error) => void): void
  end(): void
}

/** @param totalSeconds longest time of all phases together */
export const openPhases = (signal: AbortSignal, totalSeconds?: number): Phases => {
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  let timer: NodeJS.Timeout | undefined
  let endedBy: SendError | undefined
  const stop = (error: SendError): void => {
    endedBy ??= error
    ended.reject(error)
  }
  const createTimer = (seconds: number): NodeJS.Timeout =>
    setTimeout(
      () => stop(new SendError('timed_out', `no answer within ${seconds} s`)),
      seconds * 1000,
    )
  const whole = totalSeconds === undefined ? undefined : createTimer(totalSeconds)
  const abort = () => stop(new SendError('aborted', 'it was stopped'))
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  return {
    begin: seconds => {
      clearTimeout(timer)
      if (endedBy === undefined) timer = createTimer(seconds)
    },
    waitFor: work => {
      work.catch(() => {})
      return Promise.race([work, ended.promise])
    },
    onEnd: run => {
      if (endedBy === undefined) ended.promise.catch(run)
      else run(endedBy)
    },
    end: () => {
      clearTimeout(timer)
      clearTimeout(whole)
      signal.removeEventListener('abort', abort)
      abort()
    },
  }
}
