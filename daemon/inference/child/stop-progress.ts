/**
 * Length of the prefix of one stop string with which the text ends, in time linear in the text
 * (Knuth, Morris and Pratt, Fast pattern matching in strings, 1977): a long stop string that nearly
 * matches must not stall the slots.
 */
export class StopProgress {
  /** Characters of the stop string that the text ends with. */
  matched = 0
  readonly #stop: string
  /** Length of the longest border of each prefix of the stop string, computed on demand. */
  readonly #borders: number[] = [0]

  constructor(stop: string) {
    this.#stop = stop
  }

  /**
   * Start of the stop string relative to the piece that completes it; negative when it starts
   * earlier.
   */
  startIn(piece: string): number | undefined {
    for (let at = 0; at < piece.length; at++) {
      this.#take(piece.charCodeAt(at))
      if (this.matched === this.#stop.length) return at + 1 - this.matched
    }
    return undefined
  }

  #take(code: number): void {
    while (this.matched > 0 && this.#stop.charCodeAt(this.matched) !== code)
      this.matched = this.#border(this.matched)
    if (this.#stop.charCodeAt(this.matched) === code) this.matched++
  }

  #border(length: number): number {
    for (let next = this.#borders.length; next < length; next++) {
      let border = this.#borders[next - 1] as number
      const code = this.#stop.charCodeAt(next)
      while (border > 0 && this.#stop.charCodeAt(border) !== code)
        border = this.#borders[border - 1] as number
      this.#borders.push(this.#stop.charCodeAt(border) === code ? border + 1 : border)
    }
    return this.#borders[length - 1] as number
  }
}
