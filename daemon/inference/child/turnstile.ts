/**
 * Lets one party work while all others stand still. The engine holds its context as long as any
 * slot has tokens queued, so a slot that wants to change its own cache would wait until all others
 * are done; here they stop after their current step instead.
 */
export class Turnstile {
  #workers = 0
  #opened: Promise<void> | undefined
  #open = (): void => {}

  /** Promise to await; undefined when the way is free. */
  get closed(): Promise<void> | undefined {
    return this.#opened
  }

  /** Runs `work` while the turnstile is closed. Several may run at the same time. */
  async runClosed(work: () => Promise<void>): Promise<void> {
    this.#workers++
    this.#opened ??= new Promise(resolve => {
      this.#open = resolve
    })
    try {
      await work()
    } finally {
      if (--this.#workers === 0) {
        this.#opened = undefined
        this.#open()
      }
    }
  }
}
