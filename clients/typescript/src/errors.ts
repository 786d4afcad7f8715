export interface ShoalErrorFields {
  /** HTTP status; 0 when nothing answered. */
  status?: number
  /** The field of the input that is wrong. */
  param?: string | undefined
  /** Wait requested by the coordinator, in seconds. */
  retryAfterSeconds?: number | undefined
  requestId?: string | undefined
  /** Finer cause than the code: `approval_pending`. */
  reason?: string | undefined
  /** Next step, as a command line or a link. */
  next?: string | undefined
  cause?: unknown
}

/** An answer that is an error, or none at all. Decide by `code`, never by the message. */
export class ShoalError extends Error {
  readonly code: string
  readonly status: number
  readonly param: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly requestId: string | undefined
  readonly reason: string | undefined
  readonly next: string | undefined

  constructor(code: string, message: string, fields: ShoalErrorFields = {}) {
    super(message, fields.cause === undefined ? {} : { cause: fields.cause })
    this.name = 'ShoalError'
    this.code = code
    this.status = fields.status ?? 0
    this.param = fields.param
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.requestId = fields.requestId
    this.reason = fields.reason
    this.next = fields.next
  }
}

/** A gate that is pending or blocked, where an approval was required. */
export class GateNotApproved extends ShoalError {
  readonly gateId: string
  readonly gateStatus: 'pending' | 'blocked'

  constructor(gateId: string, gateStatus: 'pending' | 'blocked', reason: string | null) {
    super('gate_not_approved', `${gateId} is ${gateStatus}${reason === null ? '' : `: ${reason}`}`)
    this.name = 'GateNotApproved'
    this.gateId = gateId
    this.gateStatus = gateStatus
  }
}
