/**
 * Interval between two sweeps above which this process did not listen, rather than the cells being
 * silent.
 */
const STANDSTILL_MS = 2000
/** Time after a standstill within which the packets that arrived meanwhile are read. */
const CATCH_UP_MS = 1000

/** Detects that this process stood still; packets from that time are still unread. */
export class Standstill {
  #lastMs: number | undefined
  #endedAtMs = Number.NEGATIVE_INFINITY

  /** Returns the milliseconds of the standstill since the last call; 0 when there was none. */
  measure(nowMs: number): number {
    const gapMs = this.#gapMs(nowMs)
    this.#lastMs = nowMs
    if (gapMs <= STANDSTILL_MS) return 0
    this.#endedAtMs = nowMs
    return gapMs
  }

  /**
   * True when this process stood still after `sinceMs`, or shortly before. What cells did in that
   * time, such as leaving a coordinator that does not answer, is no fault of theirs. Sockets may be
   * read before the next `measure`, so the time since the last one counts too.
   */
  hasBeenSince(sinceMs: number, nowMs: number): boolean {
    return sinceMs < this.#endedAtMs + CATCH_UP_MS || this.#gapMs(nowMs) > STANDSTILL_MS
  }

  #gapMs(nowMs: number): number {
    return nowMs - (this.#lastMs ?? nowMs)
  }
}
