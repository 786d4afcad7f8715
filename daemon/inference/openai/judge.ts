import { HEADER_CONFIDENCE } from '../../../shared/wire/link.ts'
import type { TokenInfo } from '../protocol.ts'
import { meanLogprob } from './logprobs.ts'

/**
 * Tells the coordinator how sure the model was of the beginning of an answer, before the client
 * sees any of it.
 */
export class Judge {
  readonly #limit: number
  readonly #tokens: TokenInfo[] = []
  #ended = false

  /** @param limit tokens that are held back; undefined when nobody judges */
  constructor(limit: number | undefined) {
    this.#limit = limit ?? 0
  }

  /** Nothing is held back any more. */
  get decided(): boolean {
    return this.#ended || this.#tokens.length >= this.#limit
  }

  /** Counts the first choice alone. */
  take(index: number, tokens: readonly TokenInfo[]): void {
    if (index === 0 && !this.decided) this.#tokens.push(...tokens)
  }

  /** There is no more to come. */
  end(): void {
    this.#ended = true
  }

  headers(): [string, string][] {
    const mean = meanLogprob(this.#tokens)
    return mean === undefined ? [] : [[HEADER_CONFIDENCE, mean.toFixed(6)]]
  }
}
