/** Frames are counted in windows of this length. */
const WINDOW_MS = 5000
/** A larger step backwards or forwards is a restart of the sender, not a loss. */
const MAX_GAP = 64

interface Window {
  received: number
  lost: number
}

/** Counts the frames of one component that were lost, by the gaps in their sequence. */
export class LossMeter {
  #last: number | undefined
  #windowEndMs = 0
  #current: Window = { received: 0, lost: 0 }
  #before: Window = { received: 0, lost: 0 }

  /** Counts a frame. `nowMs` is monotonic. */
  count(sequence: number, nowMs: number): void {
    this.#turnWindow(nowMs)
    const gap = this.#last === undefined ? 0 : (sequence - this.#last - 1) & 0xff
    this.#last = sequence
    this.#current.received += 1
    if (gap <= MAX_GAP) this.#current.lost += gap
  }

  /** Share of the frames that arrived, over the last 5 to 10 s; null before the first. */
  get quality_percent(): number | null {
    const received = this.#current.received + this.#before.received
    const sent = received + this.#current.lost + this.#before.lost
    return sent === 0 ? null : Math.round((received / sent) * 100)
  }

  #turnWindow(nowMs: number): void {
    if (nowMs < this.#windowEndMs) return
    this.#before = this.#current
    this.#current = { received: 0, lost: 0 }
    this.#windowEndMs = nowMs + WINDOW_MS
  }
}
