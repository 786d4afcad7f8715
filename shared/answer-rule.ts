import * as z from 'zod'
import { FieldPath } from './success-rule.ts'

/**
 * Kinds of answers after which a client has a way of its own to go on: what it waits for with
 * `--wait`, what it warns of, and the next step that it suggests.
 */
const ANSWER_KINDS = [
  /** A command to a cell, which goes on after the answer. */
  'command',
  /** A command to a device; the answer comes at its end, or when the time of the call is up. */
  'device_command',
  /** An e-stop or its release, with the cells that have not confirmed it. */
  'estop',
  /** A request at a gate, or a check that waits for one. */
  'gate_request',
  /** A model or alias that cells take up after the answer. */
  'model_add',
  /** A command about a model; it ends with the command. */
  'model_command',
  /** A command that ends with a loaded model. */
  'model_load',
  /** A model whose weights cells download after the answer. */
  'model_pull',
  'task',
] as const

/** Kind of an answer, and the path of the object of that kind: the whole answer when absent. */
export const AnswerRule = z.object({
  kind: z.enum(ANSWER_KINDS),
  field: FieldPath.exactOptional(),
})
export type AnswerRule = z.infer<typeof AnswerRule>
