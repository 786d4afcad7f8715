import type { ShoalError } from '../../../shared/errors.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import type { Fault } from '../../fleet/routing/health/fault.ts'
import type { AnswerRest } from './answer-rest.ts'

/** Result of one request on one cell. */
export type AttemptResult =
  | AnsweredAttempt
  | { kind: 'cancelled'; usage: Usage | undefined }
  /** `rest` is undefined when the answer was cut before its end. */
  | { kind: 'declined'; usage: Usage | undefined; httpStatus: number; rest: AnswerRest | undefined }
  /** Nothing was sent to the client: another cell may be asked. */
  | { kind: 'retry'; error: ShoalError; failed: false }
  | { kind: 'retry'; error: ShoalError; failed: true; fault: Fault }
  /**
   * Part of the answer was sent to the client; `error` is undefined when the client already has
   * one.
   */
  | {
      kind: 'broken'
      error: ShoalError | undefined
      httpStatus: number
      usage: Usage | undefined
      fault: Fault
    }
  /** No memory for the answer, whichever cell produces it: no other cell is asked. */
  | { kind: 'tooLarge'; error: ShoalError }

export interface AnsweredAttempt {
  kind: 'answered'
  usage: Usage | undefined
  httpStatus: number
  rest: AnswerRest
  /** Time of the first event of a stream, in monotonic milliseconds. */
  beganAtMs?: number | undefined
  /** Fault of the cell; undefined for a sound answer. */
  fault?: Fault | undefined
}
