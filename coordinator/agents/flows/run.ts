import type { FlowStep } from './flow.ts'
import type { FlowRunRow } from './flow-run.table.ts'
import type { FlowStepRow } from './flow-step.table.ts'

/**
 * States of a run. `unknown` ends a run when the effect of a step cannot be determined; an operator
 * has to look.
 */
export const RUN_STATES = [
  'queued',
  'running',
  'waiting',
  'compensating',
  'done',
  'failed',
  'cancelled',
  'unknown',
] as const
export type RunState = (typeof RUN_STATES)[number]
const ENDS: readonly RunState[] = ['done', 'failed', 'cancelled', 'unknown']
export const hasEnded = ({ state }: Pick<FlowRun, 'state'>): boolean => ENDS.includes(state)

export const STEP_STATES = ['running', 'waiting', 'done', 'skipped', 'failed', 'unknown'] as const
type StepState = (typeof STEP_STATES)[number]

/** One run of a flow without its steps. Times are Unix milliseconds. */
export interface RunSummary {
  id: string
  tenantId: string
  flowId: string
  synergyId: string | undefined
  keyId: string
  requestId: string
  jobId: string
  state: RunState
  reason: string | undefined
  isCancelled: boolean
  createdAt: number
  changedAt: number
  endedAt: number | undefined
}

/** One run of a flow. */
export interface FlowRun extends RunSummary {
  steps: readonly FlowStep[]
}

/** A started call of a run: a step, or the compensation of a step. */
export interface StepCall {
  position: number
  isUndo: boolean
  state: StepState
  gateRequestId: string | undefined
  taskId: string | undefined
  /** Reason of a failure, or the reason why the output of a completed call is not kept. */
  reason: string | undefined
  startedAt: number
  endedAt: number | undefined
}

/** A call with its output; undefined where there is none. */
export interface StepCallWithOutput extends StepCall {
  output: unknown
}

export const runOf = (row: FlowRunRow): FlowRun => ({
  ...summaryOf(row),
  steps: JSON.parse(row.steps_json),
})

export const summaryOf = (row: Omit<FlowRunRow, 'steps_json'>): RunSummary => ({
  id: row.id,
  tenantId: row.tenant_id,
  flowId: row.flow_id,
  synergyId: row.synergy_id ?? undefined,
  keyId: row.key_id,
  requestId: row.request_id,
  jobId: row.job_id,
  state: row.state as RunState,
  reason: row.reason ?? undefined,
  isCancelled: row.cancelled === 1,
  createdAt: row.created_at,
  changedAt: row.changed_at,
  endedAt: row.ended_at ?? undefined,
})

export const stepCallOf = (row: Omit<FlowStepRow, 'output_json'>): StepCall => ({
  position: row.position,
  isUndo: row.undo === 1,
  state: row.state as StepState,
  gateRequestId: row.gate_request_id ?? undefined,
  taskId: row.task_id ?? undefined,
  reason: row.reason ?? undefined,
  startedAt: row.started_at,
  endedAt: row.ended_at ?? undefined,
})
