import type { AnswerEvent } from '../../shared/wire/answer-events.ts'

/** A kind of request that the coordinator may send to this cell. */
export interface Question {
  /** Path prefix, up to the name: `/host/`. */
  prefix: string
  /**
   * Starts with the first read, and stops when the reader leaves or the signal aborts.
   * @param level capability level of the coordinator that asks
   * @throws ShoalError not_found, invalid_request or rate_limited
   */
  ask(name: string, input: unknown, signal: AbortSignal, level: number): AsyncIterable<AnswerEvent>
}
