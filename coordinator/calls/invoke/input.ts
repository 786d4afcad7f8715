import type * as z from 'zod'
import { listKnownKeys } from '../../../shared/config-fault.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import { MAX_PARAM_LENGTH, shortenText } from '../../../shared/shorten-text.ts'
import type { Declaration } from '../../kernel/declaration/declaration.ts'
import { halfCharacterAt } from '../../kernel/declaration/half-character.ts'

/** Parses the input for the operation. Throws `invalid_request` with the field. */
export const parseInput = (
  { input: schema }: Pick<Declaration, 'input'>,
  input: unknown,
): object => {
  const result = schema.safeParse(input)
  if (!result.success) {
    const { param, message } = firstIssue(result.error, input)
    const known = listKnownFields(schema, result.error, input)
    const hint = known.length === 0 ? '' : `; known fields: ${known.join(', ')}`
    const details = param === undefined ? {} : { param }
    throw new ShoalError('invalid_request', `${message}${hint}`, details)
  }
  requireWholeText(result.data)
  return result.data
}

/** Most fields that an error lists. */
const MAX_KNOWN = 40

/** Fields that are known beside an unknown one; none for another fault. */
const listKnownFields = (
  schema: Declaration['input'],
  { issues: [issue] }: z.ZodError,
  input: unknown,
): string[] =>
  issue?.code === 'unrecognized_keys'
    ? listKnownKeys(schema, issue.path, input).slice(0, MAX_KNOWN)
    : []

/** Ids and names become keys of the store and rows of the audit, which hold whole characters only. */
const requireWholeText = (input: object): void => {
  const path = halfCharacterAt(input)?.join('.')
  if (path === undefined) return
  const param = shortenText(path, MAX_PARAM_LENGTH)
  throw new ShoalError('invalid_request', `${param}: contains half of a surrogate pair`, { param })
}
