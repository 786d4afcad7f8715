import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { readEach, readPage } from '../../kernel/store/read-each.ts'
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

/** Fields of a key without rights. */
const WITHOUT_RIGHTS: StoredKey = {
  id: '',
  digest: '',
  tenantId: '',
  furtherTenants: [],
  personId: '',
  tier: 'free',
  roles: [],
  kind: 'ci_pipeline',
  label: 'cannot be read',
  createdAt: 0,
}

/** Reads a key to revoke it; unreadable fields grant no rights. */
export const readRevocableKey: typeof keyTable.read = row => keyTable.readOr(row, WITHOUT_RIGHTS)

/** Undefined for a key outside the scope. */
export const readStoredKey = async (
  db: Kysely<LedgerTables>,
  id: string,
  scope: Scope,
  read = keyTable.read,
): Promise<StoredKey | undefined> => {
  const row = await db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()
  return row && isInScope(scope, row.tenant_id) ? read(row) : undefined
}

/** Throws `not_found`. */
export const requireStoredKey = async (
  trx: SealedTrx,
  id: string,
  scope: Scope,
  read = keyTable.read,
): Promise<StoredKey> => {
  const key = await readStoredKey(trx, id, scope, read)
  if (key === undefined) throw createUnknownError('key', id)
  return key
}

/**
 * Reads keys: by id with a page, otherwise oldest first. A key that cannot be read, which is refused
 * when it is presented, is left out.
 */
export const readStoredKeys = async (
  db: Kysely<LedgerTables>,
  {
    scope,
    page,
    logger,
  }: { scope: Scope; page?: KeyPage | undefined; logger: Pick<Logger, 'warn'> },
): Promise<StoredKey[]> => {
  let keys = db.selectFrom('keys').selectAll()
  if (scope !== 'all') keys = keys.where('tenant_id', '=', scope.tenantId)
  const { read } = keyTable
  if (page === undefined)
    return readEach(await keys.orderBy('created_at').orderBy('id').execute(), read, logger)
  const { limit, personId, after: start } = page
  if (personId !== undefined) keys = keys.where('person_id', '=', personId)
  const select = (limit: number, last: { id: string } | undefined) => {
    const after = last?.id ?? start
    const rest = after === undefined ? keys : keys.where('id', '>', after)
    return rest.orderBy('id').limit(limit).execute()
  }
  return readPage({ limit, select, read, logger })
}

/** Throws `conflict` for a key that is revoked or has expired. */
export const requireLasting = (
  { id, revokedAt, expiresAt = Infinity }: StoredKey,
  now: number,
): void => {
  if (revokedAt !== undefined) throw new ShoalError('conflict', `key ${id} is revoked`)
  if (expiresAt <= now) throw new ShoalError('conflict', `key ${id} has expired`)
}
