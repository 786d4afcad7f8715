export interface AuditTables {
  audit: AuditRow
  audit_checkpoint: AuditCheckpointRow
  audit_trouble: AuditTroubleRow
}

/** One link of the hash chain; see `coordinator/audit/chain.ts`. */
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

/** One row: what was purged of the audit; see `coordinator/audit/checkpoint.ts`. */
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
