export interface AuditTables {
  audit: AuditRow
  audit_checkpoint: AuditCheckpointRow
  audit_trouble: AuditTroubleRow
}

/** One link of the hash chain; see `coordinator/kernel/audit/chain.ts`. */
export interface AuditRow {
  seq: number
  at: number
  actor: string
  tenant: string | null
  action: string
  subject: string
  outcome: string
  details_json: string
  request_id: string | null
  prev: string
  hash: string
}

/**
 * Columns that the hash of a row covers. They are named in every query: a column that a newer
 * version adds must not make the rows look changed to an older one.
 */
export const AUDIT_COLUMNS = [
  'seq',
  'at',
  'actor',
  'tenant',
  'action',
  'subject',
  'outcome',
  'details_json',
  'request_id',
  'prev',
  'hash',
] as const satisfies readonly (keyof AuditRow)[]

/** One row: what was purged of the audit; see `coordinator/kernel/audit/checkpoint.ts`. */
export interface AuditCheckpointRow {
  id: number
  seq: number
  hash: string
  rows: number
  first_at: number
  last_at: number
  retention_days: number
  made_at: number
  key_id: string
  signature: string
}

/** One row while the audit is in doubt: nothing is written, by any process. */
interface AuditTroubleRow {
  id: number
  at: number
  reason: string
}
