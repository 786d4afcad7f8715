import type { Cell } from '../keys/cell.ts'
import type { Key } from '../keys/key.ts'
import type { Person } from '../keys/people.ts'
import type { AuditRow } from '../store/tables.ts'
import type { Gates } from './definition.ts'
import type { Policy } from './policy.ts'
import type { GateRequest } from './request.ts'

/** All that the governance checks look at, gathered once. Times are unix milliseconds. */
export interface GovernanceFacts {
  now: number
  gates: Gates
  policy: Policy
  /** Newest first; as many as are looked at. */
  requests: readonly GateRequest[]
  audit: { ok: boolean; reason: string | undefined; appendOnly: boolean; retentionDays: number }
  /** Rows with an action that begins with `gate.`. */
  gateRows: readonly Pick<AuditRow, 'action' | 'subject' | 'outcome'>[]
  keys: readonly Key[]
  persons: readonly Person[]
  cells: readonly Cell[]
  /** Where the coordinator listens, and whether with TLS. */
  listens: { loopbackOnly: boolean; encrypted: boolean }
}

/** What one check found: why it fails, or undefined when it holds. */
export type Check = (facts: GovernanceFacts) => string | undefined

export const isLive = ({ revokedAt, expiresAt }: Key, now: number): boolean =>
  revokedAt === undefined && (expiresAt === undefined || expiresAt > now)
