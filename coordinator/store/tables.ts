import type { Generated } from 'kysely'

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
  cell_settings: CellSettingsRow
  past_credentials: PastCredentialRow
  quotas: QuotaRow
  audit: AuditRow
  commands: CommandRow
  command_fences: CommandFenceRow
  configs: ConfigRow
  gate_requests: GateRequestRow
  gate_votes: GateVoteRow
  clocks: ClockRow
  probe: ProbeRow
}

export interface RecordTables {
  usage: UsageRow & Sealable
  usage_buckets: UsageBucketRow
  series: SeriesRow
  series_cells: SeriesCellRow
}

/** Grows with every change of the named subject, so that other processes drop what they cached. */
export interface RevisionRow {
  name: string
  value: number
}

/** One row, rewritten to see whether the store can be written. */
export interface ProbeRow {
  id: number
  at: number
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
  /** What the machines become: `cell`. */
  role: string
  /** Tags that the cells get. */
  tags_json: string
}

export interface CellRow {
  id: string
  name: string
  digest: string
  /** Of a credential that was given and not used yet; the first use makes it the only one. */
  next_digest: string | null
  /** When the credential was made that is used now. */
  renewed_at: number
  /** The cell's ed25519 key, base64url; null for a cell that showed none. */
  public_key: string | null
  /** Tags from its join token. */
  tags_json: string
  token_id: string
  enrolled_at: number
  revoked_at: number | null
  /** Since when nobody may connect as this cell, until an operator releases it. */
  quarantined_at: number | null
  /** Highest boot epoch the cell has shown; 0 before the first. */
  epoch: number
}

/** A credential that a cell had before another took its place. */
export interface PastCredentialRow {
  cell_id: string
  digest: string
  replaced_at: number
}

/** What operators have set for a cell; it has no row before the first time. */
export interface CellSettingsRow {
  cell_id: string
  /** Since when it gets no new requests. */
  drained_at: number | null
  labels_json: string
  /** The tenant whose own it is. */
  tenant_id: string | null
  /** 1: the tenant's requests go to no other cells. */
  exclusive: number
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
  /** `discarded`: an answer of the cascade that nobody got; its request is counted by another row. */
  status: 'ok' | 'cancelled' | 'failed' | 'discarded'
  /** Null where the cell could not tell. */
  prompt_tokens: number | null
  completion_tokens: number | null
  /** Of the prompt, those that were still in the engine's memory. */
  cached_tokens: number | null
  duration_ms: number
}

export interface Sealable {
  /** 1 when the row is in its bucket. */
  sealed: Generated<number>
}

/** Sums of what began in one hour. */
export interface UsageBucketRow {
  /** Beginning of the hour, UTC. */
  hour_at: number
  key_id: string
  tenant_id: string
  model: string
  /** Requests by how they ended. */
  ok: number
  cancelled: number
  failed: number
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  duration_ms: number
}

/** Values of one cell over a span of time; `coordinator/fleet/bucket.ts` knows the form. */
export interface SeriesRow {
  cell_id: string
  resolution_seconds: number
  /** Beginning of the span. */
  at: number
  buckets_json: string
}

export interface SeriesCellRow {
  cell_id: string
  /** When the newest late sample was taken that was counted, by the cell's clock. */
  late_until: number
}

/** A command to a cell. What does not change is in `signed_json`, as it was signed. */
export interface CommandRow {
  id: string
  cell_id: string
  state: string
  reason: string | null
  message: string | null
  result_json: string | null
  issued_at: number
  updated_at: number
  timeout_ms: number
  sends: number
  requested_by: string
  signed_json: string
}

/** The highest number of a command that a cell was given. */
export interface CommandFenceRow {
  cell_id: string
  fence: number
}

/** What cells are to be set to: one row per cell id (scope `cell`) and per tag (scope `tag`). */
export interface ConfigRow {
  scope: 'cell' | 'tag'
  name: string
  /** Grows over all rows together, so no two changes have the same. */
  version: number
  document_json: string
  changed_at: number
  changed_by: string
}

/** One request at a gate; `coordinator/gates/request.ts` says what its columns mean. */
export interface GateRequestRow {
  id: string
  gate_id: string
  tenant_id: string
  requester_id: string
  requester_key_id: string
  /** What it is about; a newer request about the same thing takes the place of this one. */
  subject: string
  summary: string
  plan_json: string
  plan_hash: string
  policy_hash: string
  evidence_json: string
  state: string
  reason: string | null
  created_at: number
  expires_at: number
  approved_at: number | null
  approval_expires_at: number | null
  consumed_at: number | null
}

/** What one person said to one request. */
export interface GateVoteRow {
  request_id: string
  person_id: string
  decision: 'approve' | 'reject'
  key_id: string
  roles_json: string
  reason: string
  at: number
}

/** The latest time that was seen, so that a clock that was set back is noticed. */
export interface ClockRow {
  name: string
  at: number
}
