/** `previous` are the tokens before, for tokenizers that treat the first word of a text apart. */
export type Detokenize<Token> = (tokens: readonly Token[], previous: readonly Token[]) => string

/** The replacement character: the end of the text is not a whole character yet. */
const INCOMPLETE = '\uFFFD'
/** A character has at most 4 bytes. More tokens than this never complete one. */
const MAX_PENDING_TOKENS = 8
const CONTEXT_TOKENS = 3

/** Turns tokens into text piece by piece and never cuts a character in two. */
export class TokenText<Token> {
  readonly #detokenize: Detokenize<Token>
  #pending: Token[] = []
  #previous: readonly Token[] = []

  constructor(detokenize: Detokenize<Token>) {
    this.#detokenize = detokenize
  }

  /** The text that is now complete; empty while a character is not. */
  push(token: Token): string {
    this.#pending.push(token)
    const text = this.#detokenize(this.#pending, this.#previous)
    const incomplete = text.endsWith(INCOMPLETE) && this.#pending.length < MAX_PENDING_TOKENS
    return incomplete ? '' : this.#take(text)
  }

  /** Flushes the remaining bytes at the end, complete or not. */
  flush(): string {
    return this.#pending.length === 0
      ? ''
      : this.#take(this.#detokenize(this.#pending, this.#previous))
  }

  #take(text: string): string {
    this.#previous = [...this.#previous, ...this.#pending].slice(-CONTEXT_TOKENS)
    this.#pending = []
    return text
  }
}
