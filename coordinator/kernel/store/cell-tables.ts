/** Tables of cells: enrollment, credentials, settings and commands. */
export interface CellTables {
  join_tokens: JoinTokenRow
  cells: CellRow
  cell_settings: CellSettingsRow
  past_credentials: PastCredentialRow
  cell_starts: CellStartRow
  cell_renewals: CellRenewalRow
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
  /** Role of the machines that enroll with the token: `cell`. */
  role: string
  /** Tags that the cells get. */
  tags_json: string
  /** Tenant whose operators see it; null for one that was created on the machine. */
  tenant_id: string | null
}

export interface CellRow {
  id: string
  name: string
  digest: string
  /**
   * Digest of a credential that was issued and not used yet; its first use makes it the only valid
   * one.
   */
  next_digest: string | null
  /** Time at which the current credential was issued. */
  renewed_at: number
  /** The cell's ed25519 key, base64url; null for a cell that showed none. */
  public_key: string | null
  /** Tags from its join token. */
  tags_json: string
  token_id: string
  enrolled_at: number
  revoked_at: number | null
  /**
   * Start of the quarantine: connections as this cell are refused until an operator releases it.
   */
  quarantined_at: number | null
  /** Highest boot epoch the cell has shown; 0 before the first. */
  epoch: number
}

/** Settings of a cell made by operators; no row before the first one. */
interface CellSettingsRow {
  cell_id: string
  /** Time since which the cell gets no new requests; null while it does. */
  drained_at: number | null
  labels_json: string
  /** Tenant that the cell is dedicated to; null for a shared cell. */
  tenant_id: string | null
  /** 1: the tenant's requests go to no other cells. */
  exclusive: number
}

/** A credential that a cell had before another took its place. */
interface PastCredentialRow {
  cell_id: string
  digest: string
  replaced_at: number
  /** Start of the daemon that used the next credential first; null where that is not known. */
  boot_id: string | null
}

/** A recent start of a cell's daemon, as far as coordinators have seen it connected. */
interface CellStartRow {
  cell_id: string
  boot_id: string
  /** Times by the clock of the store. */
  first_at: number
  seen_at: number
}

/** A cell that must replace its credential, told by the next coordinator that has it connected. */
interface CellRenewalRow {
  cell_id: string
  /** Time by the clock of the store. */
  asked_at: number
}

/** A command to a cell. What does not change is in `signed_json`, as it was signed. */
export interface CommandRow {
  id: string
  cell_id: string
  state: string
  reason: string | null
  message: string | null
  result_json: string | null
  /** What was asked of the device and observed; null where the cell did not say it. */
  outcome_json: string | null
  issued_at: number
  updated_at: number
  timeout_ms: number
  sends: number
  requested_by: string
  signed_json: string
  /**
   * Id of the coordinator that sends it; null once any may. Empty for one of an older version.
   */
  holder: string | null
  /**
   * Device that it acts on; null for a dry run, for the cell itself, and for commands of older
   * versions.
   */
  device_id: string | null
}

/**
 * Configuration of cells: one row per cell id (scope `cell`), per tag (scope `tag`), and one for all
 * (scope `fleet`).
 */
export interface ConfigRow {
  scope: 'cell' | 'tag' | 'fleet'
  name: string
  /** Grows over all rows together, so no two changes have the same. */
  version: number
  document_json: string
  changed_at: number
  changed_by: string
}
