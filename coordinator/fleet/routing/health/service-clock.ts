import { MAX_WAIT_MS } from './time-limits.ts'

/** Measures one attempt by the beats of its link, so that no attempt needs a timer. */
export class ServiceClock {
  #quietMs = 0
  #waitedMs = 0
  #progress = Number.NaN

  /**
   * Counts a beat. Returns true when the attempt has made no progress for longer than the limit.
   *
   * @param progress number that changes with every progress
   * @param limitMs undefined while the model is loading, which is progress as far as it is known
   */
  isOverdue(everyMs: number, progress: number, limitMs: number | undefined): boolean {
    if (progress !== this.#progress) {
      this.#quietMs = 0
      this.#waitedMs = 0
    }
    this.#progress = progress
    this.#waitedMs += everyMs
    if (limitMs !== undefined) this.#quietMs += everyMs
    return this.#waitedMs > MAX_WAIT_MS || (limitMs !== undefined && this.#quietMs > limitMs)
  }
}
