import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { flowRunTable } from './flow-run.table.ts'
import type { flowStepTable } from './flow-step.table.ts'

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

/** One run of a flow. */
export type FlowRun = EntityOf<typeof flowRunTable>
/** One run of a flow without its steps. */
export type RunSummary = Omit<FlowRun, 'steps'>

/** A call with its output; undefined where there is none. */
export type StepCallWithOutput = EntityOf<typeof flowStepTable>
/** A started call of a run: a step, or the compensation of a step. */
export type StepCall = Omit<StepCallWithOutput, 'output'>
