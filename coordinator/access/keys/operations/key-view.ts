import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineView, own } from '../../../kernel/declaration/define-view.ts'
import type { Key } from '../../../kernel/declaration/key.ts'
import { keyTable } from '../key.table.ts'
import type { KeyViews } from '../open.ts'

const view = defineView(keyTable, {
  id: true,
  tenant_id: true,
  further_tenants: true,
  person_id: true,
  tier: true,
  roles: true,
  kind: true,
  label: true,
  strict: own(
    z.boolean().describe('True when inference requests with ignored fields are refused.'),
    ({ strict }: Key) => strict === true,
  ),
  created_at: true,
  expires_at: true,
  revoked_at: true,
  last_used_at: true,
})
export const KeyView = view.schema
export const keyViewOf = view.of

export const isAdministrator = ({ key }: Pick<Context, 'key'>): boolean =>
  key?.roles.includes('operator_admin') === true

/**
 * A key of the caller's tenant: any for an administrator, else one of the caller's own person. A
 * program has only its own key: it does not act for the person. Throws `not_found` for every other,
 * whether or not it exists.
 */
export const ownKey = async (
  id: string,
  context: Context & KeyViews,
  get: 'get' | 'getRevocable' = 'get',
): Promise<Key> => {
  const { key, keys, tenantId = '' } = context
  const found = await keys[get](id, { tenantId })
  const isOwn =
    found?.id === key?.id || (key?.kind === 'person' && found?.personId === key.personId)
  if (found !== undefined && (isAdministrator(context) || isOwn)) return found
  throw createUnknownError('key', id)
}
