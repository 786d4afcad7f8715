import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { iso, isoOrNull } from '../../../../shared/time.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { KEY_KINDS, type Key, ROLES } from '../../../kernel/declaration/key.ts'
import type { KeyViews } from '../open.ts'

export const KeyView = z.object({
  id: z.string(),
  tenant_id: z.string(),
  further_tenants: z.array(z.string()),
  person_id: z.string(),
  tier: z.enum(TIER_NAMES),
  roles: z.array(z.enum(ROLES)),
  kind: z.enum(KEY_KINDS),
  label: z.string(),
  strict: z.boolean().describe('True when inference requests with ignored fields are refused.'),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable(),
})

export const keyViewOf = (key: Key): z.input<typeof KeyView> => ({
  id: key.id,
  tenant_id: key.tenantId,
  further_tenants: key.furtherTenants,
  person_id: key.personId,
  tier: key.tier,
  roles: key.roles,
  kind: key.kind,
  label: key.label,
  strict: key.strict === true,
  created_at: iso(key.createdAt),
  expires_at: isoOrNull(key.expiresAt),
  revoked_at: isoOrNull(key.revokedAt),
  last_used_at: isoOrNull(key.lastUsedAt),
})

export const isAdministrator = ({ key }: Pick<Context, 'key'>): boolean =>
  key?.roles.includes('operator_admin') === true

/**
 * A key of the caller's tenant: any for an administrator, else one of the caller's own person. A
 * program has only its own key: it does not act for the person. Throws `not_found` for every other,
 * whether or not it exists.
 */
export const ownKey = async (id: string, context: Context & KeyViews): Promise<Key> => {
  const { key, keys, tenantId = '' } = context
  const found = await keys.get(id, { tenantId })
  const isOwn =
    found?.id === key?.id || (key?.kind === 'person' && found?.personId === key.personId)
  if (found !== undefined && (isAdministrator(context) || isOwn)) return found
  throw new ShoalError('not_found', `no key ${id}`)
}
