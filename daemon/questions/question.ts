import type { AnswerEvent } from '../../shared/wire/answer-events.ts'

/** Something that the coordinator may ask this cell, by name. */
export interface Question {
  /** Beginning of its paths, up to the name: `/host/`. */
  prefix: string
  /**
   * Begins with the first read, and stops when its reader leaves or the signal aborts.
   *
   * @throws ShoalError not_found, invalid_request or rate_limited
   */
  ask(name: string, input: unknown, signal: AbortSignal): AsyncIterable<AnswerEvent>
}
