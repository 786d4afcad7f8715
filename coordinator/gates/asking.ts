import type { Approval } from '../../shared/wire/approval.ts'
import type { Actor } from '../audit/audit.ts'
import type { SealedTrx } from '../store/store.ts'
import type { Person } from './rules.ts'

export type Trx = SealedTrx

export interface NewRequest {
  gateId: string
  /** What it is about; the hash of the plan by default. */
  subject?: string | undefined
  summary: string
  /** Exactly what is to be done. */
  plan: unknown
  evidence?: unknown
}

export interface Decision {
  /** In the words of who decides. */
  reason?: string | undefined
}

/** Who asks, for which tenant, and who is written into the audit. */
export interface Caller {
  person: Person
  tenantId: string
  by: Actor
}

export interface Use {
  /** The plan that is about to be carried out. */
  plan: unknown
  /** Looks again at what the plan takes for granted; throws when it no longer holds. */
  precondition?: () => Promise<void> | void
  /** Part of what is carried out that belongs into the transaction of the use, with its approval. */
  within?: (trx: Trx, approval: Approval) => Promise<void>
}
