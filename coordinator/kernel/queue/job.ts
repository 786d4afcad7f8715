import type { JobRow } from './job.table.ts'

/**
 * States of a job. `dead` was given up; the job stays until it is discarded or its retention ends.
 */
export const JOB_STATES = ['queued', 'running', 'done', 'dead', 'cancelled'] as const
export const OPEN_JOB_STATES: readonly JobState[] = ['queued', 'running']
/** States that a job does not leave by itself. */
export const FINAL_JOB_STATES: readonly JobState[] = ['done', 'dead', 'cancelled']
export type JobState = (typeof JOB_STATES)[number]

/** Unit of work to be done later, at least once. Times are Unix milliseconds. */
export interface Job {
  id: string
  kind: string
  /** Tenant of the job; absent for a job of the whole service. */
  tenantId?: string
  project?: string
  team?: string
  payload: unknown
  /** Priority from 0 to 9; higher ones go first. */
  priority: number
  /** Expected cost in hundredths of a euro. */
  costCents: number
  /** Lane whose jobs are done one after another, in their order. */
  lane?: string
  state: JobState
  notBefore: number
  /** Number of attempts begun, including the one in progress. */
  attempts: number
  maxAttempts: number
  worker?: string
  /** Fencing token, incremented by each claim and by cancellation. */
  fence: number
  /** Reason for which the last attempt failed, or the job was given up or cancelled. */
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
