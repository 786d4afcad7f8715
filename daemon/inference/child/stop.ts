/**
 * Finds stop strings in a text that comes in pieces. Text that could be the beginning of a stop
 * string is held back until it is clear what it is.
 */
export class StopMatcher {
  readonly #stops: readonly string[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops
  }

  /** The text that may be shown. `stopped` when a stop string came; it is not part of the text. */
  push(piece: string): { text: string; stopped: boolean } {
    if (this.#stops.length === 0) return { text: piece, stopped: false }
    const text = this.#held + piece
    const end = firstIndex(text, this.#stops)
    if (end !== undefined) {
      this.#held = ''
      return { text: text.slice(0, end), stopped: true }
    }
    const shown = text.length - heldLength(text, this.#stops)
    this.#held = text.slice(shown)
    return { text: text.slice(0, shown), stopped: false }
  }

  /** What was held back, when no more text comes. */
  flush(): string {
    const text = this.#held
    this.#held = ''
    return text
  }
}

const firstIndex = (text: string, stops: readonly string[]): number | undefined => {
  const found = stops.map(stop => text.indexOf(stop)).filter(index => index >= 0)
  return found.length === 0 ? undefined : Math.min(...found)
}

/** Length of the longest end of `text` that is the beginning of a stop string. */
const heldLength = (text: string, stops: readonly string[]): number => {
  const longest = Math.max(...stops.map(stop => stop.length)) - 1
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    const end = text.slice(-length)
    if (stops.some(stop => stop.startsWith(end))) return length
  }
  return 0
}
