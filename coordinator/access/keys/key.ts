import type * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { type Key, type KeySpec, OPERATOR_ROLES } from '../../kernel/declaration/key.ts'
import type { StoredKey } from './key.table.ts'

export const isOperator = ({ roles }: Pick<Key, 'roles'>): boolean =>
  roles.some(role => (OPERATOR_ROLES as readonly string[]).includes(role))

/** True when a key is usable now: not revoked, not expired, its person and tenant enabled. */
export const isLive = (
  { revokedAt, disabledAt, expiresAt = Infinity }: Key,
  now: number,
): boolean => revokedAt === undefined && disabledAt === undefined && expiresAt > now

/**
 * True when a key may act for a tenant: its home tenant, or one of its further tenants that is
 * enabled.
 */
export const actsFor = (
  { tenantId, furtherTenants, disabledTenants = [] }: Key,
  wanted: string,
): boolean =>
  wanted === tenantId || (furtherTenants.includes(wanted) && !disabledTenants.includes(wanted))

/** Reason why a key may no longer act for a tenant; undefined while it may. */
export const findKeyFault = (
  key: Key | undefined,
  tenantId: string | undefined,
  now: number,
): ShoalError | undefined => {
  if (key === undefined || !isLive(key, now)) return createKeyEndedError()
  return actsFor(key, tenantId ?? key.tenantId)
    ? undefined
    : new ShoalError('tenant_forbidden', 'the key may no longer act for this tenant')
}

export const createKeyEndedError = (): ShoalError =>
  new ShoalError('auth_required', 'the key is no longer valid')

/** Public part of a key; its secret is not stored. */
export const toKey = ({ digest: _, previousDigest: __, ...key }: StoredKey): Key => key

export const newKey = (
  id: string,
  digest: string,
  { strict, ...spec }: z.output<typeof KeySpec>,
  now: number,
): StoredKey => ({ ...spec, id, digest, createdAt: now, strict: strict || undefined })
