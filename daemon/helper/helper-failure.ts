/**
 * Why a call of the helper has no answer: it threw (`failed`), said too much, did not end in time,
 * ended the process, was one too many, or the daemon is ending.
 */
export type FailureKind = 'failed' | 'too_large' | 'hung' | 'died' | 'busy' | 'stopped'

/** Stays inside the daemon; decide by `kind`. */
export class HelperFailure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.name = 'HelperFailure'
    this.kind = kind
  }
}
