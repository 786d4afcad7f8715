import { ShoalError } from '../../../shared/errors.ts'
import { type Runtime, stopTimer, type Timer } from '../../../shared/runtime.ts'
import type { Declaration } from '../../kernel/declaration/declaration.ts'

/** Time limit of a call by its mode, for operations that declare none. */
const DEFAULT_SECONDS = { sync: 30, stream: 300, task: 3600 } as const

export const timeLimitSeconds = ({
  timeoutSeconds,
  mode = 'sync',
}: Pick<Declaration, 'timeoutSeconds' | 'mode'>): number => timeoutSeconds ?? DEFAULT_SECONDS[mode]

interface CallTimeParts {
  operation: Pick<Declaration, 'id' | 'timeoutSeconds' | 'mode'>
  /** Each ends the call when it aborts: the caller has left, the task was cancelled. */
  signals: readonly AbortSignal[]
  /** Runs when the work ends after its time was up; nobody gets its result. */
  onLate: () => void
  runtime: Pick<Runtime, 'setTimeout'>
}

/**
 * The time of one call. Whatever ends it aborts `signal` and settles the race at once, also when the
 * operation ignores the signal: a caller never waits longer than the limit. What such an operation
 * still does then has no reader: its result is dropped and logged.
 */
export class CallTime {
  readonly #controller = new AbortController()
  readonly #signals: readonly AbortSignal[]
  readonly #late: () => void
  readonly #timer: Timer
  /** Start of the operation itself, by the monotonic clock; undefined for a replayed answer. */
  startedMs: number | undefined
  #reject: ((error: unknown) => void) | undefined
  #isTimedOut = false

  constructor({ operation, signals, onLate: late, runtime }: CallTimeParts) {
    this.#signals = signals
    this.#late = late
    const seconds = timeLimitSeconds(operation)
    this.#timer = runtime.setTimeout(() => {
      this.#isTimedOut = true
      const text = `${operation.id} did not answer within ${seconds} s`
      this.end(new ShoalError('request_timeout', text))
    }, seconds * 1000)
    for (const signal of signals) signal.addEventListener('abort', this.#left, { once: true })
    if (signals.some(({ aborted }) => aborted)) this.#left()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Tells the operation that the call should end, and still waits for its answer. */
  abort(reason: ShoalError): void {
    this.#controller.abort(reason)
  }

  /** Ends the call now; the race rejects with the reason. */
  end(reason: ShoalError): void {
    this.#controller.abort(reason)
    this.#reject?.(reason)
  }

  /** The result of the work, unless the call ends before it. Call it once. */
  race<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#reject = reject
    if (this.signal.aborted) reject(this.signal.reason)
    else
      work()
        .then(resolve, reject)
        .finally(() => {
          if (this.#isTimedOut) this.#late()
        })
    return promise
  }

  /** Lets go of the timer and the signals. */
  close(): void {
    stopTimer(this.#timer)
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#left)
  }

  readonly #left = (): void => {
    const reason = this.#signals.find(({ aborted }) => aborted)?.reason
    this.end(
      reason instanceof ShoalError
        ? reason
        : new ShoalError('client_closed', 'the caller has disconnected'),
    )
  }
}
