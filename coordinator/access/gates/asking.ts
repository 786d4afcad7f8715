import type { Approval } from '../../../shared/wire/approval.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'

export type Trx = SealedTrx

export interface NewRequest {
  gateId: string
  /** Subject of the request, such as a release; the hash of the plan by default. */
  subject?: string | undefined
  summary: string
  /** Exact description of the action. */
  plan: unknown
  evidence?: unknown
}

export interface DecisionOptions {
  /** Reason in the decider's words. */
  reason?: string | undefined
}

export interface Use {
  /** The plan that is about to run. */
  plan: unknown
  /** Checks the assumptions of the plan again; throws when one no longer holds. */
  precondition?: () => Promise<void> | void
  /** Work that must commit together with the use of the approval. */
  runInTransaction?: (trx: Trx, approval: Approval) => Promise<void>
}
