/** Cells, how they came in, what is set for them, and what they were told. */
export interface CellTables {
  join_tokens: JoinTokenRow
  cells: CellRow
  cell_settings: CellSettingsRow
  past_credentials: PastCredentialRow
  commands: CommandRow
  configs: ConfigRow
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

/** A credential that a cell had before another took its place. */
export interface PastCredentialRow {
  cell_id: string
  digest: string
  replaced_at: number
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
