import * as z from 'zod'
import { type ErrorCode, exitCode } from './errors.ts'

/** Path of a field of an answer: `outcome.state`. */
export const FieldPath = z.string().regex(/^[a-z]\w{0,63}(\.[a-z]\w{0,63}){0,4}$/i)
/** Exit code of an outcome that is still open (sysexits.h, EX_TEMPFAIL). */
const OPEN_EXIT = 75

/**
 * How an answer tells whether its call has reached its goal: the value of one field decides. The
 * answer of an operation without a rule informs, and has succeeded by arriving.
 */
export const SuccessRule = z.object({
  /** Path of the field. The value of a list is its length. */
  field: FieldPath,
  /**
   * Exit code of each value: 0 for a success, 75 while the outcome is open, others for failures. `*`
   * stands for all other values, which are failures (70) without it.
   */
  codes: z.record(z.string(), z.int().min(0).max(125)),
  /** Failures whose effect is in doubt: the call may have acted. */
  unknown: z.array(z.string()).exactOptional(),
  /** Operation that reads an open outcome later, with its input as paths of the answer. */
  later: z
    .object({
      operation: z.string(),
      input: z.record(z.string(), FieldPath),
      field: FieldPath,
    })
    .exactOptional(),
})
export type SuccessRule = z.infer<typeof SuccessRule>

export interface Verdict {
  kind: 'succeeded' | 'open' | 'failed' | 'unknown'
  exit: number
  /** The value that decided; empty without a rule. */
  value: string
}

/** Judges an answer. `field` replaces the field of the rule. */
export const judgeAnswer = (
  answer: unknown,
  rule: SuccessRule | undefined,
  field = rule?.field,
): Verdict => {
  if (rule === undefined) return { kind: 'succeeded', exit: 0, value: '' }
  const found = valueAt(answer, field ?? '')
  const value = String(Array.isArray(found) ? found.length : found)
  const { codes, unknown = [] } = rule
  const known = Object.hasOwn(codes, value) ? codes[value] : codes['*']
  const exit = known ?? exitCode('internal')
  if (exit === 0) return { kind: 'succeeded', exit, value }
  if (unknown.includes(value)) return { kind: 'unknown', exit, value }
  return { kind: exit === OPEN_EXIT ? 'open' : 'failed', exit, value }
}

/** Value at a path of an answer; null below a null, undefined where there is none. */
export const valueAt = (answer: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        value === null || value === undefined ? value : (value as Record<string, unknown>)[name],
      answer,
    )

/** Errors of the states in which a command to a cell ends without a success. */
export const COMMAND_ERRORS: Readonly<Record<string, ErrorCode>> = {
  failed: 'internal',
  rejected: 'forbidden',
  expired: 'cell_unavailable',
  unknown: 'cell_unavailable',
}

const OPEN_STATES = ['queued', 'sent', 'accepted', 'executing'] as const

/** True for states of a command whose outcome is open. */
export const isOpenState = (state: string): boolean =>
  (OPEN_STATES as readonly string[]).includes(state)

/** Exit codes by the state of a command; an open one has `openExit`. */
export const commandCodes = (openExit: number = OPEN_EXIT): Record<string, number> => ({
  ...Object.fromEntries(OPEN_STATES.map(state => [state, openExit])),
  succeeded: 0,
  ...Object.fromEntries(
    Object.entries(COMMAND_ERRORS).map(([state, error]) => [state, exitCode(error)]),
  ),
})
