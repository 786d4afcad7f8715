import * as z from 'zod'
import { GateId } from '../../access/gates/definition.ts'

/** Source of references that stands for the run itself: `{ $from: run.id }`. */
export const RUN = 'run'

const Id = z
  .string()
  .max(64)
  .regex(/^[a-z0-9]+([-_][a-z0-9]+)*$/, 'must be lower-case words joined by - or _')
const SkillId = z.string().min(1).max(64)
const Text = z.string().max(200)
const Scalar = z.union([z.string().max(500), z.number(), z.boolean(), z.null()])

/**
 * Input of a call. A member `{ $from: check.state }` stands for that field of the output of the
 * step `check`.
 */
const Input = z.record(z.string().max(64), z.json()).default({})

/** Condition on the output of an earlier step, such as `{ from: check.state, is: down }`. */
const Condition = z
  .strictObject({
    from: z
      .string()
      .max(200)
      .regex(/^[a-z0-9_-]+(\.\w+)*$/)
      .describe('Step and field of its output: `check.state`.'),
    is: Scalar.optional(),
    is_not: Scalar.optional(),
    above: z.number().optional(),
    below: z.number().optional(),
  })
  .refine(({ from: _, ...tests }) => Object.values(tests).some(test => test !== undefined), {
    error: 'needs at least one of is, is_not, above and below',
  })
export type Condition = z.output<typeof Condition>

export const FlowStep = z
  .strictObject({
    id: Id,
    skill: SkillId.optional().describe('Skill that the step calls.'),
    gate: GateId.optional().describe('Gate that the run passes, in place of a skill.'),
    summary: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Line that the approvers of `gate` read first.'),
    input: Input,
    when: z
      .array(Condition)
      .max(8)
      .default([])
      .describe('Conditions that must all hold; otherwise the step is skipped.'),
    compensate: z
      .strictObject({ skill: SkillId, input: Input })
      .optional()
      .describe('Call that undoes the step when a later one fails, or the run is cancelled.'),
    on_failure: z
      .enum(['stop', 'continue'])
      .default('stop')
      .describe('`stop` ends the run and compensates; `continue` runs the next step.'),
  })
  .refine(({ skill, gate }) => (skill === undefined) !== (gate === undefined), {
    error: 'a step has either a skill or a gate',
  })
export type FlowStep = z.output<typeof FlowStep>

const FlowSteps = z
  .array(FlowStep)
  .min(1)
  .max(64)
  .superRefine((steps, context) => {
    const known = new Set([RUN])
    for (const [at, step] of steps.entries()) {
      for (const name of listSources(step))
        if (!known.has(name))
          context.addIssue({
            code: 'custom',
            path: [at, 'when'],
            message: `no step ${name} comes before ${step.id}`,
          })
      if (known.has(step.id))
        context.addIssue({ code: 'custom', path: [at, 'id'], message: 'this id is taken' })
      known.add(step.id)
    }
  })

const Flow = z.strictObject({
  description: Text.default(''),
  team: z.string().max(128).optional().describe('Team that the queue board counts runs under.'),
  cost_eur: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe('Expected cost of a run, for the queue board.'),
  steps: FlowSteps,
})
export type Flow = z.output<typeof Flow>

/** Flow that repairs a service; cockpit-health-check starts it with the step of the service. */
export const REPAIR_FLOW = 'service-repair'

const FlowId = Id.refine(id => id !== REPAIR_FLOW, {
  error: `${REPAIR_FLOW} is the flow of cockpit-health-check; choose another id`,
})

/** Sequences of skills by id; see docs/flows.md. */
export const FlowsConfig = z.record(FlowId, Flow).default({})
export type FlowsConfig = z.output<typeof FlowsConfig>

const Synergy = z
  .strictObject({
    description: Text.default(''),
    flows: z.array(Id).min(1).max(8).describe('Flows that run one after another.'),
    on: z
      .string()
      .max(128)
      .regex(/^shoal\.[a-z]+(\.[a-z-]+)*$/)
      .optional()
      .describe(
        'Type of event that triggers it, such as `shoal.alert.raised`; omit it to trigger it only by hand.',
      ),
    key_id: z
      .string()
      .max(64)
      .optional()
      .describe('Key whose rights the runs triggered by events have.'),
  })
  .refine(({ on, key_id }) => on === undefined || key_id !== undefined, {
    path: ['key_id'],
    error: 'is required with `on`: the key whose rights the runs have',
  })
export type Synergy = z.output<typeof Synergy>

/** Flows that work together, by id; see docs/flows.md. */
export const SynergiesConfig = z.record(Id, Synergy).default({})
export type SynergiesConfig = z.output<typeof SynergiesConfig>

/** Ids of the earlier steps whose output a step uses; its compensation may also use its own. */
const listSources = ({ id, when, input, compensate }: FlowStep): string[] => {
  const undo = listInputSources(compensate?.input).filter(name => name !== id)
  return [...listConditionSources(when), ...listInputSources(input), ...undo]
}

export const listConditionSources = (conditions: readonly Condition[]): string[] =>
  stepIdsOf(conditions.map(({ from }) => from))

export const listInputSources = (input: unknown): string[] => stepIdsOf(listPaths(input))

const stepIdsOf = (paths: readonly string[]): string[] =>
  paths.map(path => path.split('.')[0] ?? '')

/** Paths that `{ $from: … }` names anywhere in a value. */
const listPaths = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return []
  const path = pathOf(value)
  return path === undefined ? Object.values(value).flatMap(listPaths) : [path]
}

/** Path of a reference `{ $from: path }`; undefined for any other object. */
export const pathOf = (value: object): string | undefined => {
  const { $from, ...others } = value as { $from?: unknown }
  return typeof $from === 'string' && Object.keys(others).length === 0 ? $from : undefined
}
