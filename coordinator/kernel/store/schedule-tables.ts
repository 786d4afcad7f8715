export interface ScheduleTables {
  schedules: ScheduleRow
}

/** Work that recurs. Times are Unix milliseconds by the clock of the leader. */
export interface ScheduleRow {
  name: string
  /** Kind of the job that each run adds. */
  kind: string
  payload_json: string
  /** Null for work of the whole service. */
  tenant_id: string | null
  expression: string
  time_zone: string
  jitter_seconds: number
  grace_seconds: number
  /** 0 or 1. */
  enabled: number
  /** Next planned time; null when the expression never fires again. */
  next_at: number | null
  /** `next_at` with the jitter; null like it. */
  due_at: number | null
  last_at: number | null
  last_job_id: string | null
  runs: number
  missed: number
  created_at: number
  changed_at: number
}
