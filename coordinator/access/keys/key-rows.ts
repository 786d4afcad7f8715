import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { isInScope, type Scope } from '../../kernel/store/scope.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { KeyRow } from './key.table.ts'

export interface KeyPage {
  limit: number
  /** Last id of the previous page. */
  after?: string | undefined
  /** Restricts the page to the keys of one person. */
  personId?: string | undefined
}

/** Undefined for a key outside the scope. */
export const readKeyRow = async (
  db: Kysely<LedgerTables>,
  id: string,
  scope: Scope,
): Promise<KeyRow | undefined> => {
  const row = await db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()
  return row && isInScope(scope, row.tenant_id) ? row : undefined
}

/** Throws `not_found`. */
export const requireKeyRow = async (trx: SealedTrx, id: string, scope: Scope): Promise<KeyRow> => {
  const row = await readKeyRow(trx, id, scope)
  if (row === undefined) throw new ShoalError('not_found', `no key ${id}`)
  return row
}

/** Reads keys: by id with a page, otherwise oldest first. */
export const readKeyRows = (
  db: Kysely<LedgerTables>,
  scope: Scope,
  page?: KeyPage,
): Promise<KeyRow[]> => {
  let query = db.selectFrom('keys').selectAll()
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  if (page === undefined) query = query.orderBy('created_at').orderBy('id')
  else query = query.orderBy('id').limit(page.limit)
  if (page?.after !== undefined) query = query.where('id', '>', page.after)
  if (page?.personId !== undefined) query = query.where('person_id', '=', page.personId)
  return query.execute()
}

/** Throws `conflict` for a key that is revoked or has expired. */
export const requireLasting = ({ id, revoked_at, expires_at }: KeyRow, now: number): void => {
  if (revoked_at !== null) throw new ShoalError('conflict', `key ${id} is revoked`)
  if ((expires_at ?? Infinity) <= now) throw new ShoalError('conflict', `key ${id} has expired`)
}
