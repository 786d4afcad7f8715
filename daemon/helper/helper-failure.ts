/**
 * Why a call of the helper has no answer, or not all of it: it threw (`failed`), its answer was too
 * large, it did not end in time (`hung`), its process ended (`died`), too many calls were waiting
 * (`busy`), its reader cancelled it, or the daemon is ending (`stopped`).
 */
export type FailureKind =
  | 'failed'
  | 'too_large'
  | 'hung'
  | 'died'
  | 'busy'
  | 'cancelled'
  | 'stopped'

/** Stays inside the daemon; decide by `kind`. */
export class HelperFailure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.name = 'HelperFailure'
    this.kind = kind
  }
}
