import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { ShoalError } from '../../../shared/errors.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { SimulationInput, SimulationResult } from './simulate.ts'

const FILE = new URL('simulation-worker.ts', import.meta.url)
/** The event loop keeps one core for itself where there are two. */
const MOST_RUNNING = Math.max(1, Math.min(4, availableParallelism() - 1))
const RETRY_SECONDS = 5

interface SimulationCaller {
  keyId: string | undefined
  /** Ends the simulation, also one that waits. */
  signal: AbortSignal
}

/**
 * Runs simulations in worker threads, a few at a time; others wait in the order of their arrival.
 * Waiting and running ones are counted in the budget `simulations`.
 */
export class Simulations implements Disposable {
  readonly #budget: Budgets['simulations']
  readonly #mostRunning: number
  readonly #closing = new AbortController()
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(budget: Budgets['simulations'], mostRunning = MOST_RUNNING) {
    this.#budget = budget
    this.#mostRunning = mostRunning
  }

  /**
   * Runs a simulation.
   * @throws ShoalError `rate_limited` when the key or all keys together have too many, `draining`
   *   when the coordinator stops, and the reason of the signal
   */
  async run(
    input: SimulationInput,
    { keyId, signal }: SimulationCaller,
  ): Promise<SimulationResult> {
    const place = this.#budget.open(keyId === undefined ? {} : { key: keyId })
    if (!place.take(1)) throw createBoundError(place.refusedBy === 'key')
    const ends = AbortSignal.any([signal, this.#closing.signal])
    try {
      await this.#enter(ends)
      try {
        return await simulateInWorker(input, ends)
      } finally {
        this.#leave()
      }
    } finally {
      place.close()
    }
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new ShoalError('draining', 'the coordinator is stopping'))
  }

  /** Resolves when one more worker may start. */
  async #enter(ends: AbortSignal): Promise<void> {
    ends.throwIfAborted()
    if (this.#running === this.#mostRunning) await this.#wait(ends)
    else this.#running++
  }

  async #wait(ends: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // within the call: a place must not pass to a caller that has left
    const stop = (): void => {
      this.#waiting.delete(resolve)
      reject(ends.reason)
    }
    this.#waiting.add(resolve)
    ends.addEventListener('abort', stop, { once: true })
    try {
      await promise
    } finally {
      ends.removeEventListener('abort', stop)
    }
  }

  /** The place of a worker passes to the first one that waits. */
  #leave(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#running--
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}

const createBoundError = (isOfKey: boolean): ShoalError => {
  const whose = isOfKey ? 'this key' : 'all keys together'
  const message = `${whose} may run no more simulations at once; wait for one to end, then retry`
  return new ShoalError('rate_limited', message, { retryAfterSeconds: RETRY_SECONDS })
}

const simulateInWorker = async (
  input: SimulationInput,
  ends: AbortSignal,
): Promise<SimulationResult> => {
  ends.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<SimulationResult>()
  const worker = new Worker(FILE, { workerData: input })
  const stop = (): void => reject(ends.reason)
  ends.addEventListener('abort', stop, { once: true })
  worker.once('message', resolve)
  worker.once('error', cause =>
    reject(new ShoalError('internal', 'the simulation failed', { cause })),
  )
  worker.once('exit', () => reject(new ShoalError('internal', 'the simulation ended early')))
  try {
    return await promise
  } finally {
    ends.removeEventListener('abort', stop)
    await worker.terminate()
  }
}
