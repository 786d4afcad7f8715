import { MAX_REPLICAS } from '../../shared/wire/replicas.ts'

/** Earliest and latest possible time of the coordinator's clock, in unix milliseconds. */
export interface Bounds {
  earliest: number
  latest: number
}

/** Largest relative drift of two clocks: 200 ppm, more than any computer's quartz. */
const DRIFT = 2e-4
/** Most births awaiting an answer; older ones are forgotten. */
const MAX_PENDING = 16 * MAX_REPLICAS

interface Anchor {
  /** Unix milliseconds by the coordinator's clock. */
  at: number
  /** Local monotonic milliseconds of the same moment, or of one known to be before or after it. */
  atMs: number
}

interface Measurement {
  sent: Anchor
  received: Anchor
  /** False once the session with that coordinator has ended. */
  isConnected: boolean
}

/**
 * Estimates the coordinator's clock within bounds that this cell can prove by a round trip: the
 * answer was written after the request left and before it arrived. It is anchored to the monotonic
 * clock, so that steps of the cell's wall clock are detected. Any coordinator may have signed a
 * command, whichever delivers it: the bounds cover the clocks of all that are connected.
 */
export class CoordinatorClock {
  readonly #nowMs: () => number
  readonly #pending = new Map<string, { replica: string; askedMs: number }>()
  readonly #measured = new Map<string, Measurement>()

  /** `nowMs` is a monotonic clock, in milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Records that a request with this id leaves for a coordinator now. */
  markRequest(id: string, replica: string): void {
    this.#pending.set(id, { replica, askedMs: this.#nowMs() })
    for (const [oldest] of this.#pending)
      if (this.#pending.size > MAX_PENDING) this.#pending.delete(oldest)
  }

  /** Records the answer, written at `at` by the clock of the coordinator that was asked. */
  markAnswer(id: string, at: number): void {
    const asked = this.#pending.get(id)
    if (asked === undefined) return
    this.#pending.delete(id)
    this.#measured.set(asked.replica, {
      sent: { at, atMs: asked.askedMs },
      received: { at, atMs: this.#nowMs() },
      isConnected: true,
    })
    this.#forgetReplaced()
  }

  /** Records that the session with a coordinator has ended; the last measurement is kept. */
  markEnd(replica: string): void {
    const measured = this.#measured.get(replica)
    if (measured !== undefined) measured.isConnected = false
    this.#forgetReplaced()
  }

  /** Bounds of the measured offsets; undefined before the first answer. */
  bounds(): Bounds | undefined {
    if (this.#measured.size === 0) return undefined
    const nowMs = this.#nowMs()
    const all = [...this.#measured.values()]
    return {
      earliest: Math.min(
        ...all.map(({ received: { at, atMs } }) => at + (nowMs - atMs) * (1 - DRIFT)),
      ),
      latest: Math.max(...all.map(({ sent: { at, atMs } }) => at + (nowMs - atMs) * (1 + DRIFT))),
    }
  }

  /** Drops measurements of ended sessions as soon as a connected coordinator was measured. */
  #forgetReplaced(): void {
    const all = [...this.#measured]
    if (!all.some(([, { isConnected }]) => isConnected)) return
    for (const [replica, { isConnected }] of all) if (!isConnected) this.#measured.delete(replica)
  }
}
