import type { RampUpRow } from './ramp-up.table.ts'

export const RAMP_UP_STATES = ['running', 'done', 'aborted'] as const
export type RampUpState = (typeof RAMP_UP_STATES)[number]

/** Settings for cells, in stages. */
export interface RampUpPlan {
  document: Record<string, unknown>
  /** Cells that each stage adds. */
  stages: string[][]
  apply_seconds: number
  hold_seconds: number
  error_rise_percent: number
  min_requests: number
}

/** A plan with the documents that its cells had before, by cell; absent for a cell without one. */
interface StartedPlan extends RampUpPlan {
  before: Record<string, Record<string, unknown>>
}

/** One ramp-up. Times are Unix milliseconds. */
export interface RampUp {
  id: string
  tenantId: string
  keyId: string
  requestId: string
  jobId: string
  state: RampUpState
  reason: string | undefined
  plan: StartedPlan
  stage: number
  stageBeganAt: number
  heldSince: number | undefined
  /** Time since which a cell with the settings serves no requests. */
  lostSince: number | undefined
  /** Failed requests on the cells in the hour before, in percent; undefined until the first look. */
  errorsBeforePercent: number | undefined
  isAborted: boolean
  createdAt: number
  endedAt: number | undefined
}

export const rampUpOf = (row: RampUpRow): RampUp => ({
  id: row.id,
  tenantId: row.tenant_id,
  keyId: row.key_id,
  requestId: row.request_id,
  jobId: row.job_id,
  state: row.state as RampUpState,
  reason: row.reason ?? undefined,
  plan: JSON.parse(row.plan_json),
  stage: row.stage,
  stageBeganAt: row.stage_began_at,
  heldSince: row.held_since ?? undefined,
  lostSince: row.lost_since ?? undefined,
  errorsBeforePercent: row.errors_before_percent ?? undefined,
  isAborted: row.aborted === 1,
  createdAt: row.created_at,
  endedAt: row.ended_at ?? undefined,
})

/** Cells that have their settings by now, those of the stage in progress included. */
export const cellsSoFar = ({ plan, stage }: RampUp): string[] =>
  plan.stages.slice(0, stage + 1).flat()

/** Divides cells into stages, in order of their ids; every stage has at least one cell. */
export const planStages = (
  cellIds: readonly string[],
  stagesPercent: readonly number[],
): string[][] => {
  const sorted = cellIds.toSorted()
  let from = 0
  return stagesPercent.flatMap(percent => {
    const until = Math.ceil((sorted.length * percent) / 100)
    const stage = sorted.slice(from, until)
    from = Math.max(from, until)
    return stage.length === 0 ? [] : [stage]
  })
}
