/** Requests to a source at once. Callers beyond that wait in order. */
export class Slots {
  readonly #limit: number
  readonly #waiting = new Set<() => void>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Resolves with a place, or rejects with the reason of the signal. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#used < this.#limit) {
      this.#used++
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = (): void => {
      this.#waiting.delete(resolve)
      reject(signal.reason)
    }
    this.#waiting.add(resolve)
    signal.addEventListener('abort', onAbort, { once: true })
    await promise.finally(() => signal.removeEventListener('abort', onAbort))
  }

  /** Hands the place to the caller that has waited longest. */
  leave(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#used--
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}
