import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import { type Key, OPERATOR_ROLES } from '../keys/key.ts'
import type { Context } from './context.ts'
import { halfCharacterAt } from './half-character.ts'
import type { Operation } from './operation.ts'
import { Pending } from './pending.ts'

/** Throws `auth_required` or `forbidden` unless this key may ask for this. */
export const requireAccess = (
  { access, roles = OPERATOR_ROLES }: Pick<Operation, 'access' | 'roles'>,
  key: Pick<Key, 'roles'> | undefined,
): void => {
  if (mayCall({ access, roles }, key)) return
  if (key === undefined) throw new ShoalError('auth_required', 'this needs a key')
  throw new ShoalError('forbidden', `this needs a key with the role ${roles.join(' or ')}`)
}

const hasRole = (key: Pick<Key, 'roles'>, wanted: readonly string[]): boolean =>
  key.roles.some(role => wanted.includes(role))

/** The same as a question. */
export const mayCall = (
  { access, roles = OPERATOR_ROLES }: Pick<Operation, 'access' | 'roles'>,
  key: Pick<Key, 'roles'> | undefined,
): boolean => {
  if (access === 'none') return true
  return key !== undefined && (access === 'key' || hasRole(key, roles))
}

/**
 * The one way in which every surface calls an operation: checks the input, runs, counts. The answer
 * is the output, or `Pending` when people have to approve it first.
 */
export const callOperation = async (
  operation: Operation,
  input: unknown,
  context: Context,
): Promise<unknown> => {
  const startedMs = performance.now()
  let failed = true
  try {
    const answer = await operation.run(valid(operation, input), context)
    const output = answer instanceof Pending ? answer : operation.output.encode(answer)
    failed = false
    return output
  } finally {
    context.calls.add(operation.id, performance.now() - startedMs, failed)
  }
}

/** The input as the operation gets it. Throws `invalid_request` with the field. */
export const valid = ({ input: schema }: Pick<Operation, 'input'>, input: unknown): never => {
  const result = schema.safeParse(input)
  if (!result.success) {
    const { param, message } = firstIssue(result.error, input)
    throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
  }
  requireWholeText(result.data)
  return result.data as never
}

/** Ids and names become keys of the store and rows of the audit, which hold whole characters only. */
const requireWholeText = (input: object): void => {
  const param = halfCharacterAt(input)?.join('.')
  if (param === undefined) return
  throw new ShoalError('invalid_request', `${param}: has half of a character`, { param })
}
