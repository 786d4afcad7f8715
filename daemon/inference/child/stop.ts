import { StopProgress } from './stop-progress.ts'

/**
 * Finds stop strings in a text that arrives in pieces. Text that may be the beginning of a stop
 * string is buffered until that is decided.
 */
export class StopMatcher {
  readonly #stops: readonly StopProgress[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops.map(stop => new StopProgress(stop))
  }

  /** Text that may be shown. `stopped` when a stop string was found; it is not part of the text. */
  push(piece: string): { text: string; stopped: boolean } {
    if (this.#stops.length === 0) return { text: piece, stopped: false }
    const text = this.#held + piece
    const ends = this.#stops.flatMap(stop => stop.startIn(piece) ?? [])
    if (ends.length > 0) {
      const end = this.#held.length + Math.min(...ends)
      this.#held = ''
      return { text: text.slice(0, end), stopped: true }
    }
    const shown = text.length - Math.max(...this.#stops.map(({ matched }) => matched))
    this.#held = text.slice(shown)
    return { text: text.slice(0, shown), stopped: false }
  }

  /** Flushes buffered text at the end of the stream. */
  flush(): string {
    const text = this.#held
    this.#held = ''
    return text
  }
}
