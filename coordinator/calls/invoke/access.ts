import { ShoalError } from '../../../shared/errors.ts'
import type { Declaration } from '../../kernel/declaration/declaration.ts'
import { type Key, OPERATOR_ROLES } from '../../kernel/declaration/key.ts'

/** Access rule of an operation. */
export type Guarded = Pick<Declaration, 'access' | 'roles'>
type Roles = Pick<Key, 'roles'>

/** Reason why the key may not call the operation; undefined when it may. */
export const accessFault = (operation: Guarded, key: Roles | undefined): string | undefined => {
  if (mayCall(operation, key)) return undefined
  if (key === undefined) return 'this call needs a key'
  const { roles = OPERATOR_ROLES } = operation
  const which = roles.length === 1 ? 'the role' : 'one of the roles'
  return `this call needs a key with ${which} ${roles.join(', ')}`
}

/** Error for a key that may not call the operation; undefined for one that may. */
export const accessError = (
  operation: Guarded,
  key: Roles | undefined,
  about = '',
): ShoalError | undefined => {
  const fault = accessFault(operation, key)
  if (fault === undefined) return undefined
  return key === undefined
    ? new ShoalError('auth_required', `${about}${fault}`)
    : new ShoalError('forbidden', `${about}${fault}`, { reason: 'role_required' })
}

/** True when the key may call the operation. */
export const mayCall = (
  { access, roles = OPERATOR_ROLES }: Guarded,
  key: Roles | undefined,
): boolean => {
  if (access === 'none') return true
  if (key === undefined) return false
  return access === 'key' || key.roles.some(role => (roles as readonly string[]).includes(role))
}
