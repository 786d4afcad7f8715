import type * as z from 'zod'
import type { Role } from '../keys/key.ts'
import type { Access, Effect } from './access.ts'

/** A skill as operations see it: its declaration, without the means to call it. */
export interface CardSkill {
  id: string
  /** Display name on the card. */
  name: string
  description: string
  tags: readonly string[]
  access: Access
  roles?: readonly Role[]
  effect: Effect
  timeoutSeconds?: number
  input: z.ZodObject
  output: z.ZodType
  /** Inputs worth showing. */
  examples: readonly object[]
  /** False for the skills whose schema is not published. */
  publishesInput: boolean
}
