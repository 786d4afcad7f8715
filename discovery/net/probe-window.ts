const WINDOW_START = 64
const WINDOW_MAX = 256
const WINDOW_MIN = 4

/**
 * Number of connections that may be open at once. It grows with every answer, and shrinks when this
 * machine runs out of descriptors or a host that answers starts to lose packets. It is not halved
 * again before as many probes have ended as were under way.
 */
export class ProbeWindow {
  #size = WINDOW_START
  #inFlight = 0
  #untilShrink = 0

  get size(): number {
    return this.#size
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get hasRoom(): boolean {
    return this.#inFlight < this.#size
  }

  enter(): void {
    this.#inFlight++
  }

  leave(): void {
    this.#inFlight--
    if (this.#untilShrink > 0) this.#untilShrink--
  }

  grow(): void {
    if (this.#size < WINDOW_MAX) this.#size++
  }

  shrink(): void {
    if (this.#untilShrink > 0) return
    this.#size = Math.max(WINDOW_MIN, Math.floor(this.#size / 2))
    this.#untilShrink = this.#inFlight
  }
}
