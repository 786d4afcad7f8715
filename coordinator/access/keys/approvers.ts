import type { Kysely } from 'kysely'
import type { Key } from '../../kernel/declaration/key.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { keyTable, type StoredKey } from './key.table.ts'
import { actsFor, isLive, isOperator, toKey } from './key.ts'

/** A person who may approve requests of others, with the roles of one of their keys. */
export type Approver = Pick<Key, 'personId' | 'roles'>

/** True for a key that votes at gates; those of programs only ask. */
export const isApprover = ({ kind, roles }: Pick<Key, 'kind' | 'roles'>): boolean =>
  kind === 'person' && isOperator({ roles })

type ReadKeys = (rows: readonly RowOf<typeof keyTable>[]) => StoredKey[]

/**
 * Lists the people who may approve requests of a tenant now, once for each of their keys. Throws for
 * a key that cannot be read, unless `read` leaves it out: whether it approves is not known.
 */
export const listApprovers = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  tenantId: string,
  now: number,
  read: ReadKeys = rows => rows.map(keyTable.read),
): Promise<Approver[]> => {
  const rows = await db
    .selectFrom('keys')
    .innerJoin('persons', 'persons.id', 'keys.person_id')
    .innerJoin('tenants', 'tenants.id', 'keys.tenant_id')
    .selectAll('keys')
    .where('keys.kind', '=', 'person')
    .where('keys.roles_json', '<>', JSON.stringify(['client']))
    .where('keys.revoked_at', 'is', null)
    .where('persons.disabled_at', 'is', null)
    .where('tenants.disabled_at', 'is', null)
    .execute()
  return read(rows)
    .map(toKey)
    .filter(key => isApprover(key) && isLive(key, now) && actsFor(key, tenantId))
    .map(({ personId, roles }) => ({ personId, roles }))
}

/** Number of people who can approve keys: with two of them, each can decide on the other's requests. */
export const countAdministrators = (approvers: readonly Approver[]): number =>
  new Set(
    approvers.filter(({ roles }) => roles.includes('operator_admin')).map(each => each.personId),
  ).size
