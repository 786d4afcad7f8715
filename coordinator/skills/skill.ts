import type * as z from 'zod'
import type { Role } from '../keys/key.ts'
import type { Context } from '../operations/context.ts'
import {
  type Access,
  defineOperation,
  type Effect,
  type Operation,
} from '../operations/operation.ts'

/** An operation that is on the agent card, at `POST /v1/skills/{id}`. */
export interface Skill extends Operation {
  /** Display name on the card. */
  name: string
  tags: readonly string[]
}

interface SkillSpec<I extends z.ZodObject, O extends z.ZodType> {
  id: string
  name: string
  description: string
  tags: readonly string[]
  access: Access
  roles?: readonly Role[]
  effect: Effect
  input: I
  output: O
  timeoutSeconds?: number
  run: (input: z.output<I>, context: Context) => Promise<z.input<O>> | z.input<O>
}

export const defineSkill = <I extends z.ZodObject, O extends z.ZodType>({
  name,
  tags,
  ...spec
}: SkillSpec<I, O>): Skill => ({
  ...defineOperation({ ...spec, method: 'POST', path: `/v1/skills/${spec.id}` }),
  name,
  tags,
})
