/** Lets the single reader of a queue wait for its writer. */
export class Wakeup {
  #wake = (): void => {}

  /** Resolves at the next `wake`. Check the queue first. */
  wait(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  wake(): void {
    this.#wake()
  }
}
