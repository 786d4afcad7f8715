import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import { POLICY_SOURCES } from '../../policies.ts'
import type { PolicyRow } from '../../policy.table.ts'

export const PolicyChangeView = z.object({
  what: z.enum(['version', 'order', 'rule', 'test', 'gate']),
  id: z.string(),
  change: z.enum(['added', 'removed', 'changed']),
  /** Previous value in canonical JSON; null for an addition. */
  before: z.string().nullable(),
  after: z.string().nullable(),
})

/** A policy of the ledger, or the configured one, which nobody requested. */
export const PolicyRecord = z.object({
  /** Sequence number: 0 for the configured policy, one more for each replacement. */
  number: z.int(),
  /** Version that the document gives itself. */
  version: z.string(),
  /** SHA-256 of the document in canonical JSON. */
  hash: z.string(),
  source: z.enum(POLICY_SOURCES),
  /** Person, or user who ran the program on the coordinator's machine. */
  changed_by: z.string().nullable(),
  changed_at: z.iso.datetime().nullable(),
  /** Request at gate.policy-change. */
  request_id: z.string().nullable(),
  reason: z.string().nullable(),
  replaced_hash: z.string().nullable(),
})

export const toPolicyRecord = (row: PolicyRow): z.input<typeof PolicyRecord> => ({
  number: row.number,
  version: row.version,
  hash: row.hash,
  source: row.request_id === null ? 'accepted' : 'approved',
  changed_by: row.changed_by,
  changed_at: iso(row.changed_at),
  request_id: row.request_id,
  reason: row.reason === '' ? null : row.reason,
  replaced_hash: row.replaced_hash,
})

export const NOBODY = {
  changed_by: null,
  changed_at: null,
  request_id: null,
  reason: null,
  replaced_hash: null,
}
