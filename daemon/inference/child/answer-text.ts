import { StopMatcher } from './stop.ts'
import { type Detokenize, TokenText } from './text.ts'

/** The text of an answer as it grows: whole characters, and nothing from a stop string on. */
export class AnswerText<Token> {
  readonly #text: TokenText<Token>
  readonly #stop: StopMatcher

  constructor(detokenize: Detokenize<Token>, stops: readonly string[]) {
    this.#text = new TokenText(detokenize)
    this.#stop = new StopMatcher(stops)
  }

  /** What may be shown now. After `stopped` no more tokens are wanted. */
  push(token: Token): { text: string; stopped: boolean } {
    return this.#stop.push(this.#text.push(token))
  }

  /** What was held back, when no more tokens come. */
  end(): { text: string; stopped: boolean } {
    const last = this.#stop.push(this.#text.flush())
    return last.stopped ? last : { text: last.text + this.#stop.flush(), stopped: false }
  }
}
