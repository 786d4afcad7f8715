import type * as z from 'zod'
import type { Declaration, SkillFacts } from '../operations/declaration.ts'
import { type Behaviour, defineOperation, type Operation } from '../operations/operation.ts'

/** An operation that is on the agent card, at `POST /v1/skills/{id}`. */
export type Skill = Operation & SkillFacts

/** Facts that no skill declares: they follow from its id, or are the same for all. */
type Derived = 'tool' | 'method' | 'path' | 'cli' | 'group' | 'examples'
type Card = Pick<SkillFacts, 'name' | 'tags'> &
  Partial<Pick<SkillFacts, 'constantBecause' | 'publishesInput' | 'card'>>
type SkillSpec<I extends z.ZodObject, O extends z.ZodType, P> = Omit<Declaration<I, O>, Derived> &
  Behaviour<I, O, P> &
  Card & { examples?: readonly z.input<I>[] }

export const defineSkill = <I extends z.ZodObject, O extends z.ZodType, P>(
  spec: SkillSpec<I, O, P>,
): Skill => {
  const operation = defineOperation<I, O, P>({
    ...spec,
    method: 'POST',
    path: `/v1/skills/${spec.id}`,
    cli: { group: 'skills', verb: `run ${spec.id}` },
  }) as Operation & Pick<SkillFacts, 'tool'>
  const { name, tags, examples = [], publishesInput = true, card = {}, constantBecause } = spec
  const facts = { name, tags, examples, publishesInput, card }
  return Object.assign(operation, facts, constantBecause !== undefined && { constantBecause })
}
