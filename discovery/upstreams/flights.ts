interface Flight<T> {
  work: Promise<T>
  callers: number
  controller: AbortController
}

/** Work by key that several callers wait for. It is stopped when the last of them has gone. */
export class Flights<T> {
  readonly #open = new Map<string, Flight<T>>()

  /** Joins the work of the key, or begins it. Rejects with the reason of the caller's signal. */
  async join(
    key: string,
    signal: AbortSignal,
    begin: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted()
    const flight = this.#open.get(key) ?? this.#begin(key, begin)
    flight.callers++
    const gone = Promise.withResolvers<never>()
    const onAbort = (): void => gone.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([flight.work, gone.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
      if (--flight.callers === 0) {
        this.#forget(key, flight)
        flight.controller.abort()
      }
    }
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController()
    const flight: Flight<T> = { work: begin(controller.signal), callers: 0, controller }
    flight.work.catch(() => {})
    this.#open.set(key, flight)
    return flight
  }

  #forget(key: string, flight: Flight<T>): void {
    if (this.#open.get(key) === flight) this.#open.delete(key)
  }
}
