import type { TokenInfo } from '../protocol.ts'

/**
 * Keeps the tokens of an answer in step with its text, which is held back at times and cut at a
 * stop string: the texts of the tokens that were given out are together the text that was shown.
 */
export class TokenTrail {
  #waiting: { info: TokenInfo; start: number; end: number }[] = []
  #pushed = 0
  #shown = 0

  push(info: TokenInfo): void {
    const start = this.#pushed
    this.#pushed += info.text.length
    this.#waiting.push({ info, start, end: this.#pushed })
  }

  /** More text is shown: the tokens that it completes. */
  show(text: string): TokenInfo[] {
    this.#shown += text.length
    const count = this.#waiting.findIndex(({ end }) => end > this.#shown)
    return this.#waiting.splice(0, count < 0 ? this.#waiting.length : count).map(({ info }) => info)
  }

  /** Ends the trail and returns the rest of a token that was cut. */
  end(): TokenInfo[] {
    return this.#waiting
      .splice(0)
      .filter(({ start }) => start < this.#shown)
      .map(({ info, start }) => ({ ...info, text: info.text.slice(0, this.#shown - start) }))
  }
}
