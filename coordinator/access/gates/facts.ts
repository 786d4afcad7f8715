import type { AuditRow } from '../../kernel/audit/audit.table.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { Person } from '../people/people.ts'
import type { DecidedRequest } from './decided.ts'
import type { Gates } from './definition.ts'
import type { Policy } from './policy.ts'

/** Facts about an enrolled cell for the checks; facts that do not apply to it are absent. */
export interface CheckedCell {
  id: string
  revokedAt?: number | undefined
  quarantinedAt?: number | undefined
  publicKey?: string | undefined
}

/** The input of all governance checks, gathered once. Times are Unix milliseconds. */
export interface GovernanceFacts {
  now: number
  gates: Gates
  policy: Policy
  /** Difference between the configured policy and the one in force; undefined when there is none. */
  policyDrift: string | undefined
  /** The newest requests, newest first. */
  requests: readonly DecidedRequest[]
  /** Ids of the newest requests that cannot be read in full. */
  unreadableRequests: readonly string[]
  audit: {
    ok: boolean
    reason: string | undefined
    appendOnly: boolean
    retentionDays: number
    /** Unix time before which rows were purged; 0 before the first purge. */
    purgedUntil: number
  }
  /** Rows with an action that starts with `gate.`, since the oldest of the requests. */
  gateRows: readonly Pick<AuditRow, 'action' | 'subject' | 'outcome'>[]
  /** Keys; `disabledAt` is set when their person is disabled. */
  keys: readonly Key[]
  persons: readonly Person[]
  cells: readonly CheckedCell[]
  /** Address the coordinator listens on, and whether it uses TLS. */
  listens: { loopbackOnly: boolean; encrypted: boolean }
}

/** Returns why the check fails; undefined when it passes. */
export type Check = (facts: GovernanceFacts) => string | undefined
