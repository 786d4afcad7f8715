import { ShoalError } from '../../shared/errors.ts'
import { isOperator, type Key } from '../keys/key.ts'

/** Who makes hooks of tasks and looks at them: those of the own key, and operators all of a task. */
export interface HookOwner {
  tenantId: string
  keyId: string
  seesAll: boolean
}

/** Throws `auth_required` for who has no key, and so can have no hook. */
export const hookOwner = (key: Key | undefined, tenantId: string | undefined): HookOwner => {
  if (key === undefined || tenantId === undefined)
    throw new ShoalError('auth_required', 'this needs a key')
  return { tenantId, keyId: key.id, seesAll: isOperator(key) }
}
