import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { type Key, KeySpec } from '../../kernel/declaration/key.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import { keyTable } from './key.table.ts'
import { newKey, toKey } from './key.ts'
import { KEY_PREFIX, newSecret } from './secret.ts'

export interface IssuedKey {
  key: Key
  /** The whole key as the client sends it. It is not stored and cannot be read again. */
  secret: string
}

/**
 * Issues a key inside a transaction. Throws `invalid_request` when its expiry is past, or when its
 * person or one of its tenants does not exist or is disabled, which may have changed since the
 * request.
 */
export const addKey = async (
  trx: SealedTrx,
  input: KeySpec,
  by: Actor,
  now: number,
): Promise<IssuedKey> => {
  const spec = parseKeySpec(input)
  await requireOwner(trx, spec)
  if ((spec.expiresAt ?? Infinity) <= now)
    throw new ShoalError('invalid_request', 'the expiry of the key is in the past', {
      param: 'expiresAt',
    })
  const { id, text, digest } = newSecret(KEY_PREFIX)
  const key = newKey(id, digest, spec, now)
  await trx.insertInto('keys').values(keyTable.write(key)).execute()
  const { tier, roles, kind, label, personId, furtherTenants, strict } = spec
  const details = { tier, roles, kind, label, personId, furtherTenants, ...(strict && { strict }) }
  await recordKey(trx, key, { ...by, at: now, action: 'key.create' }, details)
  return { key: toKey(key), secret: text }
}

const parseKeySpec = (input: KeySpec) => {
  const { success, data, error } = KeySpec.safeParse(input)
  if (success) return data
  const { message, param } = firstIssue(error)
  throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
}

/** Checks that the person of a key belongs to its home tenant. */
const requireOwner = async (
  trx: SealedTrx,
  { tenantId, furtherTenants, personId }: KeySpec & { furtherTenants: string[] },
): Promise<void> => {
  const person = await trx
    .selectFrom('persons')
    .select('id')
    .where('id', '=', personId)
    .where('tenant_id', '=', tenantId)
    .where('disabled_at', 'is', null)
    .executeTakeFirst()
  if (person === undefined) {
    const message = `tenant ${tenantId} has no person ${personId}`
    throw new ShoalError('invalid_request', message, { param: 'personId' })
  }
  await requireTenant(trx, tenantId, 'tenantId')
  for (const id of furtherTenants) await requireTenant(trx, id, 'furtherTenants')
}

const requireTenant = async (trx: SealedTrx, id: string, param: string): Promise<void> => {
  const tenant = await trx
    .selectFrom('tenants')
    .select('id')
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirst()
  if (tenant === undefined) throw new ShoalError('invalid_request', `no tenant ${id}`, { param })
}

/** Completes every change of a key: other processes forget it, and the audit records it. */
export const recordKey = async (
  trx: SealedTrx,
  { id, tenantId }: Pick<Key, 'id' | 'tenantId'>,
  entry: Actor & { at: number; action: string },
  details: Record<string, unknown> = {},
): Promise<void> => {
  await bumpRevision(trx, 'keys')
  await appendAudit(trx, {
    ...entry,
    tenant: tenantId,
    subject: id,
    outcome: 'done',
    details,
  })
}
