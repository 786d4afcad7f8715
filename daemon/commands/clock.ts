/** Earliest and latest possible time of the coordinator's clock, in unix milliseconds. */
export interface Bounds {
  earliest: number
  latest: number
}

/** Largest relative drift of two clocks: 200 ppm, more than any computer's quartz. */
const DRIFT = 2e-4
/** Most births awaiting an answer; older ones are forgotten. */
const MAX_PENDING = 16

interface Anchor {
  /** Unix milliseconds by the coordinator's clock. */
  at: number
  /** Local monotonic milliseconds of the same moment, or of one known to be before or after it. */
  atMs: number
}

/**
 * Estimates the coordinator's clock within bounds that this cell can prove by a round trip: the
 * answer was written after the request left and before it arrived. It is anchored to the monotonic
 * clock, so that steps of the cell's wall clock are detected.
 */
export class CoordinatorClock {
  readonly #nowMs: () => number
  readonly #pending = new Map<string, number>()
  #sent: Anchor | undefined
  #received: Anchor | undefined

  /** `nowMs` is a monotonic clock, in milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Records that a request with this id leaves now. */
  markRequest(id: string): void {
    this.#pending.set(id, this.#nowMs())
    for (const [oldest] of this.#pending)
      if (this.#pending.size > MAX_PENDING) this.#pending.delete(oldest)
  }

  /** Records the answer, written at `at` by the coordinator's clock. */
  markAnswer(id: string, at: number): void {
    const askedMs = this.#pending.get(id)
    if (askedMs === undefined) return
    this.#pending.delete(id)
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
