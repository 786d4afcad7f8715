export interface DeliveryTables {
  jobs: JobRow
  webhooks: WebhookRow
  idempotent_calls: IdempotentCallRow
}

/** Job of the queue; the row is kept for some time after the job ends. */
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
  /** Expected cost, in hundredths of a euro. */
  cost_cents: number
  /** Jobs of one lane are done one after another, in their order. */
  lane: string | null
  state: string
  not_before: number
  /**
   * Earliest time at which a worker may claim the job: `not_before` while it is queued, the end of
   * the lease while it runs, and never while another job of its lane goes first.
   */
  due_at: number
  attempts: number
  max_attempts: number
  worker: string | null
  /** Grows with every claim: a worker that lost its lease cannot end the job any more. */
  fence: number
  /** Reason for the failure of the last attempt, or for giving up. */
  reason: string | null
  /** Deduplication key: at most one job exists per kind and key. */
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
  /** Current secret, encrypted (see `coordinator/kernel/signing/sealing.ts`). */
  secret_sealed: string
  /** Secret from before the last rotation, sealed; both secrets sign until `previous_until`. */
  previous_sealed: string | null
  previous_until: number | null
  disabled_at: number | null
  disabled_reason: string | null
  /** Deliveries that were given up since the last one that arrived. */
  dead_in_row: number
  /** Number of the newest event when the webhook was created or enabled; it gets later ones. */
  after_seq: number
  delivered_at: number | null
  /** Unix milliseconds since which more events wait for it than it takes; null for others. */
  slowed_at: number | null
  created_by: string
  created_at: number
  changed_at: number
}

/** A call that came with an Idempotency-Key. */
export interface IdempotentCallRow {
  /** Owner of the Idempotency-Key; keys are unique per owner. */
  scope: string
  call_key: string
  /** Digest of the whole call. */
  fingerprint: string
  /** Attempt that holds the call. */
  claim: string
  /** `begun`; `changed` once something is on the disk because of it; `answered`. */
  state: string
  answer_sealed: string | null
  lease_until: number
  created_at: number
}
