import type { Approval as SignedApproval } from '../../../shared/wire/approval.ts'
import type { SealedTrx } from '../store/store.ts'

/** Approval of one exact plan, valid for one call. */
export interface SingleUseApproval {
  readonly requestId: string
  /** The requester, a person or visitor; only they may use it. */
  readonly requesterId: string
  /**
   * Does the work in the transaction that uses the approval, so that neither happens without the
   * other; `signed` is the approval in a form that a cell can verify offline. Throws `forbidden`
   * when the approval does not cover the plan now.
   */
  use<R>(work: (trx: SealedTrx, signed: SignedApproval) => Promise<R>): Promise<R>
}
