import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/wire/openai.ts'
import { type Key, OPERATOR_ROLES } from '../keys/key.ts'
import type { Context } from './context.ts'
import type { Operation } from './operation.ts'
import { Pending } from './pending.ts'

/** Throws `auth_required` or `forbidden` unless this key may ask for this. */
export const requireAccess = (
  { access, roles }: Pick<Operation, 'access' | 'roles'>,
  key: Key | undefined,
): void => {
  if (access === 'none') return
  if (key === undefined) throw new ShoalError('auth_required', 'this needs a key')
  if (access === 'key') return
  const wanted: readonly string[] = roles ?? OPERATOR_ROLES
  if (key.roles.some(role => wanted.includes(role))) return
  throw new ShoalError('forbidden', `this needs a key with the role ${wanted.join(' or ')}`)
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

const valid = ({ input: schema }: Operation, input: unknown): never => {
  const result = schema.safeParse(input)
  if (result.success) return result.data as never
  const { param, message } = firstIssue(result.error, input)
  throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
}
