import type { FlowRunRow, FlowStepRow } from '../store/flow-tables.ts'
import type { FlowStep } from './flow.ts'

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

/** One run of a flow. Times are Unix milliseconds. */
export interface FlowRun {
  id: string
  tenantId: string
  flowId: string
  synergyId: string | undefined
  steps: readonly FlowStep[]
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

/** A started call of a run: a step, or the compensation of a step. */
export interface StepCall {
  position: number
  isUndo: boolean
  state: StepState
  gateRequestId: string | undefined
  taskId: string | undefined
  output: unknown
  reason: string | undefined
  startedAt: number
  endedAt: number | undefined
}

export const runOf = (row: FlowRunRow): FlowRun => ({
  id: row.id,
  tenantId: row.tenant_id,
  flowId: row.flow_id,
  synergyId: row.synergy_id ?? undefined,
  steps: JSON.parse(row.steps_json),
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

export const stepCallOf = (row: FlowStepRow): StepCall => ({
  position: row.position,
  isUndo: row.undo === 1,
  state: row.state as StepState,
  gateRequestId: row.gate_request_id ?? undefined,
  taskId: row.task_id ?? undefined,
  output: row.output_json === null ? undefined : JSON.parse(row.output_json),
  reason: row.reason ?? undefined,
  startedAt: row.started_at,
  endedAt: row.ended_at ?? undefined,
})
