import { systemRuntime } from '../../../shared/runtime.ts'

/** Turns in a row in which other work goes first. */
const MAX_PASSED = 16

/**
 * Runs one piece of work in each turn of the event loop, in the order in which it was added. Other
 * events wait for one piece at most, however many there are.
 */
export class TurnQueue {
  readonly #works: (() => void)[] = []
  #givesWay = false
  #passed = 0

  add(work: () => void): void {
    if (this.#works.push(work) === 1) systemRuntime.setImmediate(this.#runNext)
  }

  /** Leaves this turn to other work; after some such turns in a row one piece runs all the same. */
  giveWay(): void {
    this.#givesWay = true
  }

  #runNext = (): void => {
    const mayRun = !this.#givesWay || this.#passed >= MAX_PASSED
    this.#givesWay = false
    this.#passed = mayRun ? 0 : this.#passed + 1
    if (!mayRun || this.#works.length > 1) systemRuntime.setImmediate(this.#runNext)
    if (mayRun) this.#works.shift()?.()
  }
}
