import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import type { Key } from '../../../../kernel/declaration/key.ts'

/**
 * Throws `not_found` unless the key acts for the tenant, even a disabled one: the existence of
 * other tenants is not revealed.
 */
export const requireAdmitted = (tenantId: string, key: Key | undefined): void => {
  if (tenantId === key?.tenantId || key?.furtherTenants.includes(tenantId)) return
  throw createUnknownError('tenant', tenantId, { param: 'tenant_id' })
}
