import type { TaskEvent } from './task.ts'

/** Events of one task for one reader, in order, until closed or failed. */
export class Subscription {
  readonly #events: TaskEvent[] = []
  #wake: (() => void) | undefined
  #closed = false
  #error: Error | undefined

  push(event: TaskEvent): void {
    if (this.#closed) return
    this.#events.push(event)
    this.#wake?.()
  }

  /** Ends the subscription; events pushed before can still be read. */
  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  fail(error: Error): void {
    this.#error = error
    this.close()
  }

  /** Returns the next event; undefined at the end. Throws the error of a failed subscription. */
  async next(): Promise<TaskEvent | undefined> {
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
