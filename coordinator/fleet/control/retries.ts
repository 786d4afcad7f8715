/** Steps that the store has refused wait here until all of them are tried again. */
export class Retries {
  #next = Promise.withResolvers<void>()
  #isClosed = false

  /** True when a step that fails once more must give up. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Resolves at the next `wake` or `close`. */
  wait(): Promise<void> {
    return this.#next.promise
  }

  wake(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers<void>()
    resolve()
  }

  /** Ends the waiting; each step tries once more. */
  close(): void {
    this.#isClosed = true
    this.wake()
  }
}
