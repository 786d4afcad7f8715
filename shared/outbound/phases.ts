import { SendError } from './send-error.ts'

/** The time limits of one request, one phase after another; the caller's signal ends any. */
export interface Phases {
  /** Begins the next phase, and the time that it may take. */
  begin(seconds: number): void
  /** Waits for a step of the phase. Throws SendError at the end of its time. */
  waitFor<T>(work: Promise<T>): Promise<T>
  onEnd(run: (error: Error) => void): void
  end(): void
}

export const openPhases = (signal: AbortSignal): Phases => {
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  let timer: NodeJS.Timeout | undefined
  const stop = (error: SendError): void => ended.reject(error)
  const abort = () => stop(new SendError('aborted', 'it was stopped'))
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  return {
    begin: seconds => {
      clearTimeout(timer)
      const onTimeout = () => stop(new SendError('timed_out', `no answer within ${seconds} s`))
      timer = setTimeout(onTimeout, seconds * 1000)
    },
    waitFor: work => {
      work.catch(() => {})
      return Promise.race([work, ended.promise])
    },
    onEnd: run => void ended.promise.catch(run),
    end: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      abort()
    },
  }
}
