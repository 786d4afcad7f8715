import type { TokenInfo } from '../protocol.ts'

interface Placed {
  token: TokenInfo
  /** Offset in the whole text of the answer. */
  at: number
}

/**
 * Picks the tokens of what an answer says out of all of its tokens, those of its calls left out. A
 * token belongs to where it begins. The text of a token may come before or after the token.
 */
export class ContentTokens {
  #waiting: Placed[] = []
  #pushed = 0
  /** Places of what was said, one after the other. */
  #said: { from: number; to: number }[] = []

  push(tokens: readonly TokenInfo[]): void {
    for (const token of tokens) {
      this.#waiting.push({ token, at: this.#pushed })
      this.#pushed += token.text.length
    }
  }

  /** Records how much of the text was sent, and from where. */
  recordSent(from: number, length: number): void {
    const last = this.#said.at(-1)
    if (last?.to === from) last.to += length
    else this.#said.push({ from, to: from + length })
  }

  /** @param decided what the text before this place is will not change any more */
  take(decided: number): TokenInfo[] {
    const count = this.#waiting.findIndex(({ at }) => at >= decided)
    const known = this.#waiting.splice(0, count < 0 ? this.#waiting.length : count)
    const taken = known.filter(({ at }) => this.#said.some(({ from, to }) => at >= from && at < to))
    // what was said before the next token has had its tokens
    const next = this.#waiting[0]?.at ?? this.#pushed
    this.#said = this.#said.filter(({ to }) => to > next)
    return taken.map(({ token }) => token)
  }
}
