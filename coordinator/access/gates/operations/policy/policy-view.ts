import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import { POLICY_SOURCES } from '../../policies.ts'
import type { PolicyFacts } from '../../policy.table.ts'
import { policySourceOf } from '../../policy-store.ts'

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

export const toPolicyRecord = (policy: PolicyFacts): z.input<typeof PolicyRecord> => ({
  number: policy.number,
  version: policy.version,
  hash: policy.hash,
  source: policySourceOf(policy),
  changed_by: policy.changedBy,
  changed_at: iso(policy.changedAt),
  request_id: policy.requestId ?? null,
  reason: policy.reason === '' ? null : policy.reason,
  replaced_hash: policy.replacedHash,
})

export const NOBODY = {
  changed_by: null,
  changed_at: null,
  request_id: null,
  reason: null,
  replaced_hash: null,
}
