import * as z from 'zod'
import { iso, isoOrNull } from '../../../../shared/time.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import type { Flow, FlowStep } from '../flow.ts'
import {
  type FlowRun,
  RUN_STATES,
  type RunSummary,
  STEP_STATES,
  type StepCallWithOutput,
} from '../run.ts'

export const StepView = z.object({
  id: z.string(),
  skill: z.string().nullable(),
  gate: z.string().nullable(),
  conditions: z.array(z.json()).describe('Conditions that must all hold.'),
  compensate_skill: z.string().nullable().describe('Skill that undoes the step.'),
})

export const FlowView = z.object({
  flow_id: z.string(),
  description: z.string(),
  team: z.string().nullable(),
  cost_eur: z.number(),
  steps: z.array(StepView),
})

export const stepViewOf = ({ id, skill, gate, when, compensate }: FlowStep) => ({
  id,
  skill: skill ?? null,
  gate: gate ?? null,
  conditions: when as z.core.util.JSONType[],
  compensate_skill: compensate?.skill ?? null,
})

export const flowViewOf = (flowId: string, flow: Flow): z.input<typeof FlowView> => ({
  flow_id: flowId,
  description: flow.description,
  team: flow.team ?? null,
  cost_eur: flow.cost_eur,
  steps: flow.steps.map(stepViewOf),
})

const time = z.iso.datetime()

export const RunView = z.object({
  run_id: z.string(),
  flow_id: z.string(),
  synergy_id: z.string().nullable(),
  state: z
    .enum(RUN_STATES)
    .describe('`unknown`: the effect of a step cannot be determined; an operator has to look.'),
  reason: z.string().nullable(),
  job_id: z.string().describe('Job of the queue that carries the run on.'),
  cancelled: z.boolean(),
  created_at: time,
  changed_at: time,
  ended_at: time.nullable(),
})

export const RunDetails = RunView.extend({
  calls: z.array(
    z.object({
      step_id: z.string(),
      skill: z.string().nullable(),
      is_compensation: z.boolean(),
      state: z.enum(STEP_STATES),
      gate_request_id: z.string().nullable(),
      task_id: z.string().nullable(),
      output: z.json(),
      output_withheld: z
        .string()
        .nullable()
        .describe('Reason why the output is not shown: your key may not call the skill.'),
      reason: z.string().nullable(),
      started_at: time,
      ended_at: time.nullable(),
    }),
  ),
})

export const runViewOf = (run: RunSummary): z.input<typeof RunView> => ({
  run_id: run.id,
  flow_id: run.flowId,
  synergy_id: run.synergyId ?? null,
  state: run.state,
  reason: run.reason ?? null,
  job_id: run.jobId,
  cancelled: run.cancelled,
  created_at: iso(run.createdAt),
  changed_at: iso(run.changedAt),
  ended_at: isoOrNull(run.endedAt),
})

/** Details of a run; outputs of skills with an access fault are withheld. */
export const runDetailsOf = (
  run: FlowRun,
  calls: readonly StepCallWithOutput[],
  findAccessFault: (skillId: string) => string | undefined,
): z.input<typeof RunDetails> => ({
  ...runViewOf(run),
  calls: calls.map(call => {
    const step = run.steps[call.position]
    const skill = call.undo ? step?.compensate?.skill : step?.skill
    const fault = skill === undefined ? undefined : findAccessFault(skill)
    return {
      step_id: step?.id ?? '',
      skill: skill ?? null,
      is_compensation: call.undo,
      state: call.state,
      gate_request_id: call.gateRequestId ?? null,
      task_id: call.taskId ?? null,
      output: fault === undefined ? ((call.output ?? null) as z.core.util.JSONType) : null,
      output_withheld: call.output === undefined ? null : (fault ?? null),
      reason: call.reason ?? null,
      started_at: iso(call.startedAt),
      ended_at: isoOrNull(call.endedAt),
    }
  }),
})

export const RUN_PATH = { run_id: Id }
