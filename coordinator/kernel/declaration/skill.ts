import * as z from 'zod'
import { listUnknown, UnknownField } from '../../../shared/unknown-fields.ts'
import type { Context } from './context.ts'
import { DataState } from './data-state.ts'
import type { Declaration, SkillFacts } from './declaration.ts'
import { type Behaviour, defineOperation, type Operation } from './operation.ts'
import { PendingResult } from './pending-result.ts'

/** An operation that is on the agent card, at `POST /v1/skills/{id}`. */
export type Skill<Needs = never> = Operation<Needs> & SkillFacts

/** Facts that no skill declares: they follow from its id, or are the same for all. */
type Derived = 'tool' | 'method' | 'path' | 'cli' | 'group' | 'examples'
type Card = Pick<SkillFacts, 'name' | 'tags'> &
  Partial<Pick<SkillFacts, 'constantBecause' | 'publishesInput' | 'card'>>
type SkillSpec<I extends z.ZodObject, O extends z.ZodType, P, Plan, Run, Rule, Recall> = Omit<
  Declaration<I, O>,
  Derived
> &
  Behaviour<I, O, P, Plan, Run, Rule, Recall> &
  Card & {
    /** Family of the skill on the card, and its toolset. */
    group: string
    examples?: readonly z.input<I>[]
    /** Step that brings data, for answers with the `data_state` empty; they get it as `to_load`. */
    toLoad?: string
  }

const ToLoad = z.string().nullable().describe('How to load data while there is none; else null.')

type Answering = (...parts: unknown[]) => object | Promise<object>
type AnySkillSpec = SkillSpec<z.ZodObject, z.ZodType, unknown, never, never, never, never>

/**
 * Adds to a skill's output what every answer states of its evidence: `data_state`, the figures that
 * are `unknown`, and `to_load` where the skill declares it.
 */
const withEvidence = <S extends AnySkillSpec>(spec: S): S => {
  const { id, toLoad, output, run, show } = spec
  if (!(output instanceof z.ZodObject)) throw new TypeError(`${id}: its output must have fields`)
  const extend = (answer: object): object =>
    answer instanceof PendingResult ? answer : stateEvidence(output, answer, toLoad)
  const wrap =
    (answer: Answering): Answering =>
    async (...parts) =>
      extend(await answer(...parts))
  return {
    ...spec,
    output: output.extend({
      ...(!('data_state' in output.shape) && { data_state: DataState }),
      unknown: z.array(UnknownField),
      ...(toLoad !== undefined && { to_load: ToLoad }),
    }),
    ...(run !== undefined && { run: wrap(run as Answering) }),
    ...(show !== undefined && { show: (plan: unknown) => extend((show as Answering)(plan)) }),
  }
}

const stateEvidence = (output: z.ZodObject, answer: Evidence, toLoad?: string): object => {
  const state = answer.data_state ?? 'live'
  const declared = listUnknown(output, answer, { isEmpty: state === 'empty' })
  const unknown = [...(answer.unknown ?? []), ...declared]
  return {
    ...answer,
    data_state: state === 'live' && unknown.length > 0 ? 'partial' : state,
    unknown,
    ...(toLoad !== undefined && { to_load: state === 'empty' ? toLoad : null }),
  }
}

/** Evidence that the answer of a skill itself states. */
interface Evidence {
  data_state?: DataState
  /** Fields of which only the call can tell why they are unknown. */
  unknown?: readonly UnknownField[]
}

export const defineSkill = <
  I extends z.ZodObject,
  O extends z.ZodType,
  P,
  Plan = Context,
  Run = Context,
  Rule = unknown,
  Recall = Context,
>(
  spec: SkillSpec<I, O, P, Plan, Run, Rule, Recall>,
): Skill<Plan & Run & Rule & Recall> => {
  const operation = defineOperation<I, O, P, Plan, Run, Rule, Recall>({
    ...(withEvidence(spec as never) as typeof spec),
    method: 'POST',
    path: `/v1/skills/${spec.id}`,
    cli: { group: 'skills', verb: `run ${spec.id}` },
  }) as Operation<Plan & Run & Rule & Recall> & Pick<SkillFacts, 'tool'>
  const { name, tags, examples = [], publishesInput = true, card = {}, constantBecause } = spec
  const facts = { name, tags, examples, publishesInput, card }
  return Object.assign(operation, facts, constantBecause !== undefined && { constantBecause })
}
