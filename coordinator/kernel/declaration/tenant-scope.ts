import { ShoalError } from '../../../shared/errors.ts'
import type { Context } from './context.ts'

/** The tenant whose data the caller may see. Throws `auth_required` without a key. */
export const scopeOf = ({ tenantId }: Pick<Context, 'tenantId'>): { tenantId: string } => {
  if (tenantId === undefined) throw new ShoalError('auth_required', 'this call needs a key')
  return { tenantId }
}
