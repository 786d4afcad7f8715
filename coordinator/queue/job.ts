import type { JobRow } from '../store/delivery-tables.ts'

/** `dead` was given up; it stays until somebody looks, or for its time. */
export const JOB_STATES = ['queued', 'running', 'done', 'dead', 'cancelled'] as const
/** States that a job does not leave by itself. */
export const FINAL_JOB_STATES: readonly JobState[] = ['done', 'dead', 'cancelled']
export type JobState = (typeof JOB_STATES)[number]

/** Something to be done later, at least once. Times are unix milliseconds. */
export interface Job {
  id: string
  kind: string
  /** Undefined for what belongs to the whole service. */
  tenantId?: string
  project?: string
  team?: string
  payload: unknown
  /** 0 to 9; higher ones go first. */
  priority: number
  /** What it is expected to cost, in hundredths of a euro. */
  costCents: number
  /** Jobs of one lane are done one after another, in their order. */
  lane?: string
  state: JobState
  notBefore: number
  /** Begun so far; the one that runs counts. */
  attempts: number
  maxAttempts: number
  worker?: string
  /** Which claim this is. */
  fence: number
  /** Why the last attempt failed, or why it was given up or cancelled. */
  reason?: string
  createdAt: number
  changedAt: number
  endedAt?: number
}

export const jobOf = (row: JobRow): Job => ({
  id: row.id,
  kind: row.kind,
  payload: JSON.parse(row.payload_json),
  priority: row.priority,
  costCents: row.cost_cents,
  state: row.state as JobState,
  notBefore: row.not_before,
  attempts: row.attempts,
  maxAttempts: row.max_attempts,
  fence: row.fence,
  createdAt: row.created_at,
  changedAt: row.changed_at,
  ...(row.tenant_id === null ? {} : { tenantId: row.tenant_id }),
  ...(row.project === null ? {} : { project: row.project }),
  ...(row.team === null ? {} : { team: row.team }),
  ...(row.lane === null ? {} : { lane: row.lane }),
  ...(row.worker === null ? {} : { worker: row.worker }),
  ...(row.reason === null ? {} : { reason: row.reason }),
  ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
})
