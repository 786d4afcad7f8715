import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import type { Declaration } from '../declaration.ts'
import { halfCharacterAt } from '../half-character.ts'

/** Parses the input for the operation. Throws `invalid_request` with the field. */
export const parseInput = (
  { input: schema }: Pick<Declaration, 'input'>,
  input: unknown,
): object => {
  const result = schema.safeParse(input)
  if (!result.success) {
    const { param, message } = firstIssue(result.error, input)
    throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
  }
  requireWholeText(result.data)
  return result.data
}

/** Ids and names become keys of the store and rows of the audit, which hold whole characters only. */
const requireWholeText = (input: object): void => {
  const param = halfCharacterAt(input)?.join('.')
  if (param === undefined) return
  throw new ShoalError('invalid_request', `${param}: contains half of a surrogate pair`, { param })
}
