/** Listeners to one kind of occurrence; they are called in the order in which they were added. */
export class Listeners<Arguments extends unknown[]> {
  readonly #listeners = new Set<(...occurred: Arguments) => void>()

  /** Returns how to remove the listener. */
  add = (listener: (...occurred: Arguments) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify = (...occurred: Arguments): void => {
    for (const listener of this.#listeners) listener(...occurred)
  }
}
