/** Between which times the coordinator's clock stands now, unix milliseconds. */
export interface Bounds {
  earliest: number
  latest: number
}

/** How fast two clocks may drift apart: 200 ppm, more than the quartz of any computer. */
const DRIFT = 2e-4
/** Births whose answer did not come; older ones are forgotten. */
const MAX_ASKED = 16

interface Anchor {
  /** Unix milliseconds by the coordinator. */
  at: number
  /** Own monotonic milliseconds of the same moment, or of one that is surely before or after. */
  atMs: number
}

/**
 * What the coordinator's clock shows, as far as this cell can prove it by the round trip of a
 * question: the answer was written after the question left and before it came back. It is measured
 * against the monotonic clock, so a step of the cell's own clock is seen at once.
 */
export class CoordinatorClock {
  readonly #nowMs: () => number
  readonly #asked = new Map<string, number>()
  #sent: Anchor | undefined
  #received: Anchor | undefined

  /** `nowMs`: milliseconds of a clock that never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** A question with this id leaves now. */
  ask(id: string): void {
    this.#asked.set(id, this.#nowMs())
    for (const [oldest] of this.#asked) if (this.#asked.size > MAX_ASKED) this.#asked.delete(oldest)
  }

  /** Its answer came, written at this time by the coordinator's clock. */
  answered(id: string, at: number): void {
    const askedMs = this.#asked.get(id)
    if (askedMs === undefined) return
    this.#asked.delete(id)
    this.#sent = { at, atMs: askedMs }
    this.#received = { at, atMs: this.#nowMs() }
  }

  /** Undefined before the first answer. */
  bounds(): Bounds | undefined {
    if (this.#sent === undefined || this.#received === undefined) return undefined
    const nowMs = this.#nowMs()
    return {
      earliest: this.#received.at + (nowMs - this.#received.atMs) * (1 - DRIFT),
      latest: this.#sent.at + (nowMs - this.#sent.atMs) * (1 + DRIFT),
    }
  }
}
