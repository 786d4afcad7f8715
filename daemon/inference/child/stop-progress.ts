/**
 * How much of one stop string the text ends with, in time that grows with the text alone (Knuth,
 * Morris and Pratt, Fast pattern matching in strings, 1977): a long stop string that a text follows
 * for long must not stall the slots.
 */
export class StopProgress {
  /** Characters of the stop string that the text ends with. */
  matched = 0
  readonly #stop: string
  /** Of each beginning of the stop string, as far as it was needed: how much of it is its end too. */
  readonly #borders: number[] = [0]

  constructor(stop: string) {
    this.#stop = stop
  }

  /** Where the stop string begins, counted from the piece that completes it; negative before it. */
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
