import type { FinishReason } from '../../../shared/wire/openai.ts'
import type { EndReason, TokenInfo } from '../protocol.ts'
import type { CallShape } from '../tool-syntax.ts'
import { type AnswerPart, CallSplitter } from './call-splitter.ts'
import { ContentTokens } from './content-tokens.ts'

/** A piece of one answer. */
export type ChoiceDelta =
  | { type: 'content'; text: string; tokens: readonly TokenInfo[] }
  /** `call` counts the calls of this answer from 0. */
  | { type: 'call'; call: number; id: string; name: string }
  | { type: 'arguments'; call: number; text: string }

/** The functions that an answer may call. */
export interface CallableFunctions {
  names: readonly string[]
  /** Calls in one answer; those that a model writes beyond are left out. */
  most: number
}

/** One answer: text, or text and calls where there are functions to call. */
export class Choice {
  readonly #callable: CallableFunctions | undefined
  readonly #newId: () => string
  #splitter: CallSplitter | undefined
  readonly #tokens = new ContentTokens()
  #calls = 0

  /** @param callable undefined when no call is to be looked for */
  constructor(callable: CallableFunctions | undefined, newId: () => string) {
    this.#callable = callable
    this.#newId = newId
  }

  /** @param shape how the answer writes its calls */
  start(shape: CallShape | undefined): void {
    this.#splitter = this.#callable && new CallSplitter(this.#callable.names, shape)
  }

  take(text: string, tokens: readonly TokenInfo[]): ChoiceDelta[] {
    if (this.#splitter === undefined) return [{ type: 'content', text, tokens }]
    this.#tokens.push(tokens)
    return this.#deltas(this.#splitter.push(text), this.#splitter.decided)
  }

  end(reason: EndReason): { deltas: ChoiceDelta[]; finish: FinishReason } {
    const deltas = this.#deltas(this.#splitter?.end() ?? [], Number.POSITIVE_INFINITY)
    if (reason === 'length') return { deltas, finish: 'length' }
    // a call cut off by a stop string in its arguments cannot be executed
    const isCall = this.#calls > 0 && this.#splitter?.isCut !== true
    return { deltas, finish: isCall ? 'tool_calls' : 'stop' }
  }

  #deltas(parts: readonly AnswerPart[], decided: number): ChoiceDelta[] {
    const deltas = parts.flatMap(part => this.#delta(part))
    const tokens = this.#tokens.take(decided)
    if (tokens.length === 0) return deltas
    const last = deltas.findLast(delta => delta.type === 'content')
    if (last === undefined) return [{ type: 'content', text: '', tokens }, ...deltas]
    last.tokens = tokens
    return deltas
  }

  #delta(part: AnswerPart): ChoiceDelta[] {
    if (part.type === 'content') {
      this.#tokens.recordSent(part.at, part.text.length)
      return [{ type: 'content', text: part.text, tokens: [] }]
    }
    if (part.type === 'call') this.#calls++
    const call = this.#calls - 1
    if (call >= (this.#callable?.most ?? 0)) return []
    if (part.type === 'arguments') return [{ ...part, call }]
    return [{ type: 'call', call, id: `call_${this.#newId()}`, name: part.name }]
  }
}
