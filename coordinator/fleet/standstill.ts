/** Two sweeps further apart than this mean that we did not listen, not that the cells were silent. */
const STANDSTILL_MS = 2000

/** Detects that this process stood still: packets of that time are still unread. */
export class Standstill {
  #lastMs: number | undefined

  /** Milliseconds of the standstill since the last call; 0 when there was none. */
  measure(nowMs: number): number {
    const gapMs = nowMs - (this.#lastMs ?? nowMs)
    this.#lastMs = nowMs
    return gapMs > STANDSTILL_MS ? gapMs : 0
  }
}
