import type * as z from 'zod'
import type { Role } from '../keys/key.ts'
import {
  type Access,
  defineOperation,
  type Effect,
  type Mode,
  type Operation,
} from '../operations/operation.ts'

/** An operation that is on the agent card, at `POST /v1/skills/{id}`. */
export interface Skill extends Operation {
  /** Display name on the card. */
  name: string
  tags: readonly string[]
  /** Inputs worth showing; the catalogue and the documents have them, the card has not. */
  examples: readonly object[]
  /** False for the skills whose schema the card does not publish. Their input is checked all the same. */
  publishesInput: boolean
  /** What the card says of this skill beyond the usual. */
  card: { examples?: readonly string[]; endpoints?: Readonly<Record<string, string>> }
}

interface SkillSpec<I extends z.ZodObject, O extends z.ZodType> {
  id: string
  name: string
  description: string
  tags: readonly string[]
  access: Access
  roles?: readonly Role[]
  effect: Effect
  openWorld?: boolean
  input: I
  output: O
  timeoutSeconds?: number
  events?: z.ZodType
  mode?: Mode
  resumable?: boolean
  onCell?: boolean
  waitsFor?: NonNullable<Operation<I, O>['waitsFor']>
  examples?: readonly z.input<I>[]
  publishesInput?: boolean
  card?: Skill['card']
  run: Operation<I, O>['run']
}

export const defineSkill = <I extends z.ZodObject, O extends z.ZodType>({
  name,
  tags,
  examples = [],
  publishesInput = true,
  card = {},
  ...spec
}: SkillSpec<I, O>): Skill => ({
  ...defineOperation({
    ...spec,
    method: 'POST',
    path: `/v1/skills/${spec.id}`,
    cli: { group: 'skills', verb: `run ${spec.id}` },
  }),
  name,
  tags,
  examples,
  publishesInput,
  card,
})
