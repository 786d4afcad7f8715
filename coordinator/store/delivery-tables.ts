export interface DeliveryTables {
  jobs: JobRow
  webhooks: WebhookRow
  idempotent_calls: IdempotentCallRow
}

/** Something to be done, until some time after it was. */
export interface JobRow {
  /** The order in which jobs were added. */
  seq: number
  id: string
  kind: string
  /** Null for what belongs to the whole service. */
  tenant_id: string | null
  project: string | null
  team: string | null
  payload_json: string
  /** 0 to 9; higher ones go first. */
  priority: number
  /** What it is expected to cost, in hundredths of a euro. */
  cost_cents: number
  /** Jobs of one lane are done one after another, in their order. */
  lane: string | null
  state: string
  not_before: number
  /**
   * When a worker may take it: `not_before` while it is queued, the end of the lease while it
   * runs, and never while another of its lane goes before.
   */
  due_at: number
  attempts: number
  max_attempts: number
  worker: string | null
  /** Grows with every claim: a worker that lost its lease cannot end the job any more. */
  fence: number
  /** Why the last attempt failed, or why it was given up. */
  reason: string | null
  /** Of one kind and key there is one job. */
  once_key: string | null
  created_at: number
  changed_at: number
  ended_at: number | null
}

/** An address that events of a tenant are sent to. */
export interface WebhookRow {
  id: string
  tenant_id: string
  url: string
  types_json: string
  label: string
  /** Encrypted, as all that is called sealed. */
  secret_sealed: string
  /** Of before the last rotation; both sign until `previous_until`. */
  previous_sealed: string | null
  previous_until: number | null
  disabled_at: number | null
  disabled_reason: string | null
  /** Deliveries that were given up since the last one that arrived. */
  dead_in_row: number
  delivered_at: number | null
  created_by: string
  created_at: number
  changed_at: number
}

/** A call that came with an Idempotency-Key. */
export interface IdempotentCallRow {
  /** Whose key it is. */
  scope: string
  call_key: string
  /** Digest of what was asked. */
  fingerprint: string
  /** Which attempt has it. */
  claim: string
  /** `begun`; `changed` once something is on the disk because of it; `answered`. */
  state: string
  answer_sealed: string | null
  lease_until: number
  created_at: number
}
