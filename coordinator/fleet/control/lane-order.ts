/** Runs the steps of a lane one at a time, in order of arrival. */
export class LaneOrder {
  readonly #tails = new Map<string, Promise<void>>()

  /** The first step of an idle lane begins at once. A step must not reject. */
  run(lane: string, step: () => Promise<void>): void {
    const before = this.#tails.get(lane)
    const tail = before === undefined ? step() : before.then(step)
    this.#tails.set(lane, tail)
    void tail.then(() => {
      if (this.#tails.get(lane) === tail) this.#tails.delete(lane)
    })
  }

  isBusy(lane: string): boolean {
    return this.#tails.has(lane)
  }

  /** Resolves when no step is under way. */
  async waitForIdle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values())
  }
}
