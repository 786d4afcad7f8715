/**
 * The tables of both files. Only text and integers, so that the same schema holds on PostgreSQL.
 * Times are unix milliseconds by the coordinator's clock. Columns that end in `_json` hold JSON
 * text; digests are SHA-256 in hexadecimal.
 */
export interface LedgerTables {
  revisions: RevisionRow
  tenants: TenantRow
  persons: PersonRow
  keys: KeyRow
  join_tokens: JoinTokenRow
  cells: CellRow
  quotas: QuotaRow
  audit: AuditRow
}

export interface RecordTables {
  usage: UsageRow
}

/** Grows with every change of the named subject, so that other processes drop what they cached. */
export interface RevisionRow {
  name: string
  value: number
}

export interface TenantRow {
  id: string
  name: string
  created_at: number
}

export interface PersonRow {
  id: string
  tenant_id: string
  name: string
  created_at: number
}

export interface KeyRow {
  id: string
  digest: string
  /** Of the secret that was live before the last rotation, while both are accepted. */
  previous_digest: string | null
  tenant_id: string
  /** Tenants beside `tenant_id` the key may act for. */
  further_tenants_json: string
  person_id: string
  tier: string
  roles_json: string
  kind: string
  label: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}

export interface JoinTokenRow {
  id: string
  digest: string
  uses: number
  uses_left: number
  created_at: number
  expires_at: number
  revoked_at: number | null
}

export interface CellRow {
  id: string
  name: string
  digest: string
  token_id: string
  enrolled_at: number
  revoked_at: number | null
  /** Highest boot epoch the cell has shown; 0 before the first. */
  epoch: number
}

/** Requests reserved in one calendar month (`2026-11`, UTC): spent, or leased by a coordinator. */
export interface QuotaRow {
  month: string
  subject: string
  reserved: number
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

export interface UsageRow {
  /** Of ours. */
  id: string
  /** What the client may have chosen: one value may stand in many rows. */
  request_id: string
  at: number
  key_id: string
  tenant_id: string
  model: string
  /** Empty when no cell took it. */
  cell_id: string
  route: string
  status: 'ok' | 'cancelled' | 'failed'
  /** Null where the cell could not tell. */
  prompt_tokens: number | null
  completion_tokens: number | null
  duration_ms: number
}
