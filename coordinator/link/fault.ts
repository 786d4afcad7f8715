/** Error codes of RFC 9113, section 7. */
export const CODE = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const

/** What ends a whole session: the peer does not speak HTTP/2 as it should. */
export class SessionFault extends Error {
  readonly code: number

  /** @param code of RFC 9113, told to the peer */
  constructor(code: number, message: string) {
    super(message)
    this.name = 'SessionFault'
    this.code = code
  }
}

/** What ends one stream (RFC 9113, section 8.1.1). */
export class Malformed extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Malformed'
  }
}
