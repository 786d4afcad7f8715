import { StopMatcher } from './stop.ts'
import { type Detokenize, TokenText } from './text.ts'

export interface VisibleText {
  /** Text that may be shown now. */
  text: string
  /** Text added by the token itself, shown or not. */
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

  push(token: Token): VisibleText {
    const piece = this.#text.push(token)
    return { piece, ...this.#stop.push(piece) }
  }

  /** Flushes buffered text at the end of the stream. */
  end(): VisibleText {
    const piece = this.#text.flush()
    const last = this.#stop.push(piece)
    if (last.stopped) return { piece, ...last }
    return { piece, text: last.text + this.#stop.flush(), stopped: false }
  }
}
