import * as z from 'zod'
import type { Context } from './context.ts'
import type { Declaration, SkillFacts } from './declaration.ts'
import { type Behaviour, defineOperation, type Operation } from './operation.ts'

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

/** Adds `to_load` to the answers of a skill that declares it. */
const withToLoad = <
  S extends SkillSpec<z.ZodObject, z.ZodType, unknown, never, never, never, never>,
>(
  spec: S,
): S => {
  const { id, toLoad, output, run, show } = spec
  if (toLoad === undefined) return spec
  if (!(output instanceof z.ZodObject))
    throw new TypeError(`${id}: toLoad needs fields to be beside`)
  const extend = (answer: object): object => {
    // an answer without it is a pending approval
    if (!('data_state' in answer)) return answer
    return { ...answer, to_load: answer.data_state === 'empty' ? toLoad : null }
  }
  const wrap =
    (answer: Answering): Answering =>
    async (...parts) =>
      extend(await answer(...parts))
  return {
    ...spec,
    output: output.extend({ to_load: ToLoad }),
    ...(run !== undefined && { run: wrap(run as Answering) }),
    ...(show !== undefined && { show: (plan: unknown) => extend((show as Answering)(plan)) }),
  }
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
    ...(withToLoad(spec as never) as typeof spec),
    method: 'POST',
    path: `/v1/skills/${spec.id}`,
    cli: { group: 'skills', verb: `run ${spec.id}` },
  }) as Operation<Plan & Run & Rule & Recall> & Pick<SkillFacts, 'tool'>
  const { name, tags, examples = [], publishesInput = true, card = {}, constantBecause } = spec
  const facts = { name, tags, examples, publishesInput, card }
  return Object.assign(operation, facts, constantBecause !== undefined && { constantBecause })
}
