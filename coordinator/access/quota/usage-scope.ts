import { ShoalError } from '../../../shared/errors.ts'
import type { Key, Role } from '../../kernel/declaration/key.ts'
import { isOperator } from '../keys/key.ts'

/** Scope of a usage query: the requesting key, its tenant, or everybody. */
export const USAGE_SCOPES = ['key', 'tenant', 'all'] as const
type UsageScope = (typeof USAGE_SCOPES)[number]

/** Roles that may see the usage of every tenant. */
const SEES_ALL: readonly Role[] = ['operator_admin', 'finance']

interface UsageWish {
  scope?: UsageScope | undefined
  keyId?: string | undefined
  tenantId?: string | undefined
}

/**
 * The keys and tenants a key may see of those it asks for. A client's key sees itself, that of an
 * operator its tenant, and those of operator_admin and finance everybody. Throws `forbidden`.
 */
export const usageScope = (
  key: Pick<Key, 'id' | 'roles'>,
  ownTenant: string,
  { scope, keyId, tenantId }: UsageWish,
): { keyId?: string; tenantId?: string } => {
  const wanted = scope ?? (isOperator(key) ? 'tenant' : 'key')
  if (wanted === 'all') {
    if (!hasRole(key, SEES_ALL))
      throw createForbiddenError('scope', `needs the role ${SEES_ALL.join(' or ')}`)
    return { ...(keyId && { keyId }), ...(tenantId && { tenantId }) }
  }
  if (wanted === 'tenant' && !isOperator(key))
    throw createForbiddenError('scope', 'needs an operator role')
  if (tenantId !== undefined && tenantId !== ownTenant)
    throw createForbiddenError(
      'tenant_id',
      'is outside the scope; operators of all tenants ask scope all',
    )
  if (wanted === 'tenant') return { tenantId: ownTenant, ...(keyId && { keyId }) }
  if (keyId !== undefined && keyId !== key.id)
    throw createForbiddenError('key_id', 'is another key, which only operators see')
  return { keyId: key.id, ...(tenantId && { tenantId }) }
}

const hasRole = ({ roles }: Pick<Key, 'roles'>, wanted: readonly Role[]): boolean =>
  roles.some(role => wanted.includes(role))

const createForbiddenError = (param: string, why: string): ShoalError =>
  new ShoalError('forbidden', `${param} ${why}`, { param, reason: 'role_required' })
