/**
 * Interval between two sweeps above which this process did not listen, rather than the cells being
 * silent.
 */
const STANDSTILL_MS = 2000

/** Detects that this process stood still; packets from that time are still unread. */
export class Standstill {
  #lastMs: number | undefined

  /** Returns the milliseconds of the standstill since the last call; 0 when there was none. */
  measure(nowMs: number): number {
    const gapMs = nowMs - (this.#lastMs ?? nowMs)
    this.#lastMs = nowMs
    return gapMs > STANDSTILL_MS ? gapMs : 0
  }
}
