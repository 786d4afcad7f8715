import { HEADER_CONFIDENCE, HEADER_USAGE_SO_FAR } from '../../../shared/wire/link.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import type { TokenInfo } from '../protocol.ts'
import { meanLogprob } from './logprobs.ts'

/**
 * Tells the coordinator how sure the model was of the beginning of an answer, before the client
 * sees any of it.
 */
export class Judge {
  readonly #limit: number
  readonly #tokens: TokenInfo[] = []
  #promptTokens = 0
  #seen = 0
  #ended = false

  /** @param limit number of tokens to hold back; undefined to hold back none */
  constructor(limit: number | undefined) {
    this.#limit = limit ?? 0
  }

  /** Nothing is held back any more. */
  get decided(): boolean {
    return this.#ended || this.#tokens.length >= this.#limit
  }

  start(promptTokens: number): void {
    this.#promptTokens = promptTokens
  }

  /** Judges the first choice alone. */
  take(index: number, tokens: readonly TokenInfo[]): void {
    this.#seen += tokens.length
    if (index === 0 && !this.decided) this.#tokens.push(...tokens)
  }

  /** Ends the judging: no more text follows. */
  end(): void {
    this.#ended = true
  }

  /** Headers with the usage so far, for a coordinator that may not wait for the end. */
  usageHeaders(): [string, string][] {
    if (this.#limit === 0) return []
    const usage: Usage = {
      prompt_tokens: this.#promptTokens,
      completion_tokens: this.#seen,
      total_tokens: this.#promptTokens + this.#seen,
    }
    return [[HEADER_USAGE_SO_FAR, JSON.stringify(usage)]]
  }

  headers(): [string, string][] {
    const mean = meanLogprob(this.#tokens)
    return mean === undefined ? [] : [[HEADER_CONFIDENCE, mean.toFixed(6)]]
  }
}
