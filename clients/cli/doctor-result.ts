import type { ErrorCode } from '../../shared/errors.ts'

/** Result of one check. */
export interface DoctorResult {
  name: string
  state: 'ok' | 'warn' | 'fail'
  says: string
  /** Suggested remedy. */
  next?: string
  /** Error code that decides the exit code. */
  code?: ErrorCode
}

/** An answer of the coordinator, whatever its status. */
export interface CoordinatorReply {
  status: number
  headers: Headers
  /** Parsed body; undefined when it is not JSON. */
  body: unknown
  /** Unix milliseconds by our clock, halfway between question and answer. */
  at: number
}
