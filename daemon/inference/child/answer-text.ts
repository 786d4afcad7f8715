import { StopMatcher } from './stop.ts'
import { type Detokenize, TokenText } from './text.ts'

export interface Shown {
  /** What may be shown now. */
  text: string
  /** What the token itself has added, shown or not. */
  piece: string
  /** No more tokens are wanted. */
  stopped: boolean
}

/** The text of an answer as it grows: whole characters, and nothing from a stop string on. */
export class AnswerText<Token> {
  readonly #text: TokenText<Token>
  readonly #stop: StopMatcher

  constructor(detokenize: Detokenize<Token>, stops: readonly string[]) {
    this.#text = new TokenText(detokenize)
    this.#stop = new StopMatcher(stops)
  }

  push(token: Token): Shown {
    const piece = this.#text.push(token)
    return { piece, ...this.#stop.push(piece) }
  }

  /** What was held back, when no more tokens come. */
  end(): Shown {
    const piece = this.#text.flush()
    const last = this.#stop.push(piece)
    if (last.stopped) return { piece, ...last }
    return { piece, text: last.text + this.#stop.flush(), stopped: false }
  }
}
