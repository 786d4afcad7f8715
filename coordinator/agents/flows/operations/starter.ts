import { ShoalError } from '../../../../shared/errors.ts'
import type { Starter } from '../../../access/keys/starter.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'

/** The caller as the starter of a run. Throws `auth_required` without a key. */
export const starterOf = (context: Context): Starter => {
  const { key, actor, requestId } = context
  if (key === undefined) throw new ShoalError('auth_required', 'this call needs a key')
  return { ...scopeOf(context), keyId: key.id, requestId, actor: actor.actor }
}
