/** Error codes of RFC 9113, section 7. */
export const ERROR_CODE = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const

/** A violation of HTTP/2 by the peer that ends the whole session (RFC 9113, section 5.4.1). */
export class SessionFault extends Error {
  readonly code: number

  /** @param code error code (RFC 9113, section 7), sent to the peer */
  constructor(code: number, message: string) {
    super(message)
    this.name = 'SessionFault'
    this.code = code
  }
}

/** A malformed answer, which ends its stream only (RFC 9113, section 8.1.1). */
export class StreamFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Malformed'
  }
}
