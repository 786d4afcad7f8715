import type { Usage } from '../../../shared/wire/openai.ts'
import type { EngineEvent } from '../jobs.ts'

/** Tokens used by all answers of one request. A prompt counts once, as with OpenAI. */
export class CompletionTotals {
  readonly #asked: number
  #bound = Number.POSITIVE_INFINITY
  #prompt = 0
  #cached = 0
  #completion = 0

  /** @param asked the most tokens of one answer that the caller wanted */
  constructor(asked: number) {
    this.#asked = asked
  }

  /** @param isFirst of the answers to its prompt */
  count(event: EngineEvent, isFirst: boolean): void {
    if (event.type === 'end') this.#completion += event.completionTokens
    if (event.type !== 'start') return
    this.#bound = Math.min(this.#bound, event.maxTokens)
    if (!isFirst) return
    this.#prompt += event.promptTokens
    this.#cached += event.cachedTokens
  }

  get promptTokens(): number {
    return this.#prompt
  }

  /** The bound that held, when the caller had asked for more. */
  get lowered(): number | undefined {
    return this.#asked > this.#bound ? this.#bound : undefined
  }

  get usage(): Usage {
    return {
      prompt_tokens: this.#prompt,
      completion_tokens: this.#completion,
      total_tokens: this.#prompt + this.#completion,
      prompt_tokens_details: { cached_tokens: this.#cached },
    }
  }
}
