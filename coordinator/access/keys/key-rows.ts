import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { isInScope, type Scope } from '../../kernel/store/scope.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { keyTable, type StoredKey } from './key.table.ts'

export interface KeyPage {
  limit: number
  /** Last id of the previous page. */
  after?: string | undefined
  /** Restricts the page to the keys of one person. */
  personId?: string | undefined
}

/** Undefined for a key outside the scope. */
export const readStoredKey = async (
  db: Kysely<LedgerTables>,
  id: string,
  scope: Scope,
): Promise<StoredKey | undefined> => {
  const row = await db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()
  return row && isInScope(scope, row.tenant_id) ? keyTable.read(row) : undefined
}

/** Throws `not_found`. */
export const requireStoredKey = async (
  trx: SealedTrx,
  id: string,
  scope: Scope,
): Promise<StoredKey> => {
  const key = await readStoredKey(trx, id, scope)
  if (key === undefined) throw new ShoalError('not_found', `no key ${id}`)
  return key
}

/** Reads keys: by id with a page, otherwise oldest first. */
export const readStoredKeys = async (
  db: Kysely<LedgerTables>,
  scope: Scope,
  page?: KeyPage,
): Promise<StoredKey[]> => {
  let query = db.selectFrom('keys').selectAll()
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  if (page === undefined) query = query.orderBy('created_at').orderBy('id')
  else query = query.orderBy('id').limit(page.limit)
  if (page?.after !== undefined) query = query.where('id', '>', page.after)
  if (page?.personId !== undefined) query = query.where('person_id', '=', page.personId)
  return (await query.execute()).map(keyTable.read)
}

/** Throws `conflict` for a key that is revoked or has expired. */
export const requireLasting = (
  { id, revokedAt, expiresAt = Infinity }: StoredKey,
  now: number,
): void => {
  if (revokedAt !== undefined) throw new ShoalError('conflict', `key ${id} is revoked`)
  if (expiresAt <= now) throw new ShoalError('conflict', `key ${id} has expired`)
}
