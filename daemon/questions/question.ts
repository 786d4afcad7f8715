import type { AnswerEvent } from '../../shared/wire/answer-events.ts'

/** A kind of request that the coordinator may send to this cell. */
export interface Question {
  /** Path prefix, up to the name: `/host/`. */
  prefix: string
  /**
   * Starts with the first read, and stops when the reader leaves or the signal aborts.
   * @throws ShoalError not_found, invalid_request or rate_limited
   */
  ask(name: string, input: unknown, signal: AbortSignal): AsyncIterable<AnswerEvent>
}
