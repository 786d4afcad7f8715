import type * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import {
  type Key,
  type KeyKind,
  type KeySpec,
  OPERATOR_ROLES,
} from '../../kernel/declaration/key.ts'
import type { KeyRow } from './key.table.ts'

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
    : new ShoalError('tenant_forbidden', 'the key may not act for this tenant any more')
}

export const createKeyEndedError = (): ShoalError =>
  new ShoalError('auth_required', 'the key is not valid any more')

/** Public part of a key; its secret is not stored. */
export const toKey = (row: KeyRow): Key => ({
  id: row.id,
  tenantId: row.tenant_id,
  furtherTenants: JSON.parse(row.further_tenants_json),
  personId: row.person_id,
  tier: row.tier as Key['tier'],
  roles: JSON.parse(row.roles_json),
  kind: row.kind as KeyKind,
  label: row.label,
  ...(row.strict === 1 && { strict: true }),
  createdAt: row.created_at,
  ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
  ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
})

export const createKeyRow = (
  id: string,
  digest: string,
  spec: z.output<typeof KeySpec>,
  now: number,
) =>
  ({
    id,
    digest,
    previous_digest: null,
    tenant_id: spec.tenantId,
    further_tenants_json: JSON.stringify(spec.furtherTenants),
    person_id: spec.personId,
    tier: spec.tier,
    roles_json: JSON.stringify(spec.roles),
    kind: spec.kind,
    label: spec.label,
    created_at: now,
    expires_at: spec.expiresAt ?? null,
    revoked_at: null,
    last_used_at: null,
    strict: spec.strict ? 1 : null,
  }) satisfies KeyRow
