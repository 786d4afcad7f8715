import { HEADER_PROMPT_TOKENS } from '../../../shared/wire/link.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import type { AnswerHeaders } from '../cells/cell-link.ts'

const EVENT_END = Buffer.from('\n\n')
/**
 * Upper bound of a credible token count; a cell that reports more is not believed. Sums of accepted
 * counts stay far below 2^63, where SQLite's `sum` fails and with it every reading of usage.
 */
export const MAX_TOKENS = 1e9
/** First byte of `data:`; comments and the error event begin with other bytes. */
const DATA = 0x64
/** Events of the Responses API have names; those with a piece of the answer end in `.delta`. */
const NAMED = Buffer.from('event: response.')
const DELTA = Buffer.from('.delta\n')
const LONGEST_NAME = 64
/** Begins the event with which a daemon ends a stream that failed. */
const ERROR = Buffer.from('event: error\n')

/**
 * Estimates the usage of a stream that was cut off. The cell's trailer never arrives, so the prompt
 * tokens are taken from its response headers and the answer is counted by its events. An event
 * carries one token or, rarely, more, so the estimate is low rather than high.
 */
export class PartialUsage {
  /** Number of events with text; starts below zero because the first event has only the role. */
  #events = -1
  #isAtStart = true
  #isData = false
  #hasError = false

  count(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#isAtStart) this.#noteStart(chunk.subarray(at, at + LONGEST_NAME))
      const end = chunk.indexOf(EVENT_END, at)
      this.#isAtStart = end !== -1
      if (end === -1) return
      if (this.#isData) this.#events++
      at = end + EVENT_END.length
    }
  }

  /** True when the daemon has said that the answer failed. */
  get hasError(): boolean {
    return this.#hasError
  }

  /** Number of events with data so far, the first one, which has only the role, included. */
  get dataEvents(): number {
    return this.#events + 1
  }

  #noteStart(event: Buffer): void {
    this.#isData = isPiece(event)
    if (!this.#isData && event.subarray(0, ERROR.length).equals(ERROR)) this.#hasError = true
  }

  /** Returns undefined when the cell had not begun to answer. */
  usage(headers: AnswerHeaders): Usage | undefined {
    const prompt_tokens = Number(headers[HEADER_PROMPT_TOKENS] ?? Number.NaN)
    if (!Number.isSafeInteger(prompt_tokens) || prompt_tokens < 0 || prompt_tokens > MAX_TOKENS)
      return undefined
    const completion_tokens = Math.max(0, this.#events)
    return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
  }
}

const isPiece = (event: Buffer): boolean =>
  event[0] === DATA ||
  (event.subarray(0, NAMED.length).equals(NAMED) &&
    event.subarray(0, event.indexOf(0x0a) + 1).includes(DELTA))
