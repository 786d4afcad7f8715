import type { FinishReason } from '../../../shared/wire/openai.ts'
import type { EndReason, TokenInfo } from '../protocol.ts'
import { CallSplitter, type Part } from './call-splitter.ts'

/** A piece of one answer. */
export type ChoiceDelta =
  | { type: 'content'; text: string; tokens: readonly TokenInfo[] }
  /** `call` counts the calls of this answer from 0. */
  | { type: 'call'; call: number; id: string; name: string }
  | { type: 'arguments'; call: number; text: string }

/** One answer: text, or text and calls where there are functions to call. */
export class Choice {
  readonly #splitter: CallSplitter | undefined
  readonly #newId: () => string
  #calls = 0

  /** @param names of the functions that may be called; undefined when none is to be looked for */
  constructor(names: readonly string[] | undefined, newId: () => string) {
    this.#splitter = names && new CallSplitter(names)
    this.#newId = newId
  }

  take(text: string, tokens: readonly TokenInfo[]): ChoiceDelta[] {
    if (this.#splitter === undefined) return [{ type: 'content', text, tokens }]
    return this.#splitter.push(text).map(part => this.#delta(part))
  }

  end(reason: EndReason): { deltas: ChoiceDelta[]; finish: FinishReason } {
    const deltas = (this.#splitter?.end() ?? []).map(part => this.#delta(part))
    if (reason === 'length') return { deltas, finish: 'length' }
    return { deltas, finish: this.#calls > 0 ? 'tool_calls' : 'stop' }
  }

  #delta(part: Part): ChoiceDelta {
    if (part.type === 'content') return { ...part, tokens: [] }
    if (part.type === 'arguments') return { ...part, call: this.#calls - 1 }
    return { type: 'call', call: this.#calls++, id: `call_${this.#newId()}`, name: part.name }
  }
}
