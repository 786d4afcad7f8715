/** Weight of the newest interval in the mean. */
const SHARE = 0.2
const LONGEST_MS = 60_000

/** Mean time between two turns of a waiting line, from which Retry-After is estimated. */
export class Pace {
  /** Mean interval in milliseconds; one second before the first turn. */
  betweenMs = 1000
  #lastMs: number | undefined

  noteTurn(nowMs: number): void {
    const passedMs = nowMs - (this.#lastMs ?? nowMs - this.betweenMs)
    this.#lastMs = nowMs
    this.betweenMs += SHARE * (Math.min(passedMs, LONGEST_MS) - this.betweenMs)
  }
}

/** Converts milliseconds to whole seconds for Retry-After, 1 to 60. */
export const toRetryAfterSeconds = (milliseconds: number): number =>
  Math.min(60, Math.max(1, Math.ceil(milliseconds / 1000)))
