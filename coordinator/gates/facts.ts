import type { Cell } from '../enrolment/cell.ts'
import type { Key } from '../keys/key.ts'
import type { Person } from '../people/people.ts'
import type { AuditRow } from '../store/audit-tables.ts'
import type { DecidedRequest } from './decided.ts'
import type { Gates } from './definition.ts'
import type { Policy } from './policy.ts'

/** All that the governance checks look at, gathered once. Times are unix milliseconds. */
export interface GovernanceFacts {
  now: number
  gates: Gates
  policy: Policy
  /** Why the configuration does not say what holds; undefined when it does. */
  policyDrift: string | undefined
  /** Newest first; as many as are looked at. */
  requests: readonly DecidedRequest[]
  audit: {
    ok: boolean
    reason: string | undefined
    appendOnly: boolean
    retentionDays: number
    /** Rows from before were purged; 0 before the first purge. */
    purgedUntil: number
  }
  /** Rows with an action that begins with `gate.`, since the oldest of the requests. */
  gateRows: readonly Pick<AuditRow, 'action' | 'subject' | 'outcome'>[]
  /** With `disabledAt` where their person is disabled. */
  keys: readonly Key[]
  persons: readonly Person[]
  cells: readonly Cell[]
  /** Where the coordinator listens, and whether with TLS. */
  listens: { loopbackOnly: boolean; encrypted: boolean }
}

/** What one check found: why it fails, or undefined when it holds. */
export type Check = (facts: GovernanceFacts) => string | undefined
