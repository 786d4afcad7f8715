import { setTimeout as sleep } from 'node:timers/promises'

/** Time in which all messages of one burst arrive, in milliseconds. */
const BURST_MS = 300
/** Longest time of one piece of work, in milliseconds. */
const WORK_MS = 1000

/**
 * Runs the work of many simulated cells one after another, after the burst of messages that it
 * answers. So the arrival of a message is not delayed by the work of other cells, and the duration of
 * each work is that of a cell with a machine of its own.
 */
export class Turns {
  #last: Promise<void> = Promise.resolve()
  #waiting = 0

  add(work: () => Promise<void>): void {
    if (this.#waiting++ === 0) this.#last = this.#last.then(() => sleep(BURST_MS))
    this.#last = this.#last
      .then(() => Promise.race([work(), sleep(WORK_MS)]))
      .then(() => {
        this.#waiting--
      })
  }
}
