import type { Actor } from '../audit/audit.ts'
import type { KeyKind } from './key.ts'

/** The authenticated person at a gate, as the key identifies them. */
export interface GatePerson {
  personId: string
  keyId: string
  kind: KeyKind
  roles: readonly string[]
}

/** The authenticated requester: the person, the tenant, and the actor for the audit. */
export interface Caller {
  person: GatePerson
  tenantId: string
  by: Actor
}
