import type { StreamResponse } from '@a2a-js/sdk'

/** Events of one task for one reader, in order. Ends when it is closed or fails. */
export class Subscription {
  readonly #events: StreamResponse[] = []
  #wake: (() => void) | undefined
  #closed = false
  #error: Error | undefined

  push(event: StreamResponse): void {
    if (this.#closed) return
    this.#events.push(event)
    this.#wake?.()
  }

  /** Ends it once what came before was read. */
  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  fail(error: Error): void {
    this.#error = error
    this.close()
  }

  /** The next event; undefined at the end. */
  async next(): Promise<StreamResponse | undefined> {
    for (;;) {
      const event = this.#events.shift()
      if (event !== undefined) return event
      if (this.#error !== undefined) throw this.#error
      if (this.#closed) return undefined
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}
