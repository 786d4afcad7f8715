import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { Key } from '../../kernel/declaration/key.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { keyTable } from './key.table.ts'
import { toKey } from './key.ts'

/** A key under each of its current secrets; `digest` is SHA-256, hexadecimal. */
interface ShownKey {
  digest: string
  key: Key
}

/**
 * Length of a secret's id: enough to distinguish the secrets of one key, and useless otherwise. A
 * piece of 13 or more characters would keep the whole digest in memory (V8's sliced strings), for
 * each key in the cache.
 */
const SECRET_ID_CHARACTERS = 12

/**
 * Returns the keys of these ids as they are when one of their secrets is presented, including
 * whether person and tenants are disabled. A key has two entries while it has two secrets,
 * and none when it cannot be read, so that it is refused.
 */
export const readShownKeys = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  ids: readonly string[],
  logger?: Pick<Logger, 'warn'>,
): Promise<ShownKey[]> => {
  const rows = await db
    .selectFrom('keys')
    .leftJoin('persons', 'persons.id', 'keys.person_id')
    .leftJoin('tenants', 'tenants.id', 'keys.tenant_id')
    .selectAll('keys')
    .select(['persons.disabled_at as person_disabled_at'])
    .select(['tenants.disabled_at as tenant_disabled_at'])
    .where('keys.id', 'in', ids)
    .execute()
  const keys = readEach(rows, row => ({ row, key: toKey(keyTable.read(row)) }), logger)
  const disabled = await findDisabledTenants(
    db,
    keys.flatMap(({ key }) => key.furtherTenants),
  )
  return keys.flatMap(({ row, key }) => {
    const disabledAt = row.person_disabled_at ?? row.tenant_disabled_at
    const disabledTenants = key.furtherTenants.filter(id => disabled.has(id))
    return [row.digest, row.previous_digest]
      .filter(digest => digest !== null)
      .map(digest => ({
        digest,
        key: {
          ...key,
          secretId: digest.slice(0, SECRET_ID_CHARACTERS),
          ...(disabledAt === null ? {} : { disabledAt }),
          ...(disabledTenants.length === 0 ? {} : { disabledTenants }),
        },
      }))
  })
}

const findDisabledTenants = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  ids: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('tenants')
    .select('id')
    .where('disabled_at', 'is not', null)
    .execute()
  const all = new Set(rows.map(({ id }) => id))
  return new Set(ids.filter(id => all.has(id)))
}
