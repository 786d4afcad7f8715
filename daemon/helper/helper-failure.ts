/**
 * Reason why a helper call has no complete answer: the function threw (`failed`), the answer was
 * too large, it did not end in time (`hung`), its process ended (`died`), too many calls were
 * waiting (`busy`), the reader cancelled it, or the daemon is stopping (`stopped`).
 */
type FailureKind = 'failed' | 'too_large' | 'hung' | 'died' | 'busy' | 'cancelled' | 'stopped'

/** Internal error of the daemon, never sent to clients; handle it by its `kind`. */
export class HelperFailure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.name = 'HelperFailure'
    this.kind = kind
  }
}
