import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { countMatchingRows } from './count.ts'
import type { TableDefinition } from './define-table.ts'
import type { Database } from './engine.ts'
import { loadTables } from './load-tables.ts'
import type { Store } from './store.ts'

/** Rows per INSERT: the parameters of the widest table stay below the limits of both engines. */
const PAGE = 500

/**
 * Copies every row of a store into an empty one, except those of running processes, and returns the
 * number of rows per table. Each database is copied in one transaction, the ledger last: a target
 * with a ledger is complete. No coordinator may use either store. Throws `conflict` when the target
 * is not empty, `internal` when it has another number of rows afterwards.
 */
export const copyStore = async (from: Store, to: Store): Promise<Record<string, number>> => {
  const lasting = (await loadTables()).filter(({ isLive }) => !isLive)
  const records = lasting.filter(({ database }) => database === 'records')
  const ledger = lasting.filter(({ database }) => database === 'ledger')
  await requireEmpty(to.records, records)
  await requireEmpty(to.ledger, ledger)
  return {
    ...(await copyDatabase(from.records, to.records, records)),
    ...(await copyDatabase(from.ledger, to.ledger, ledger)),
  }
}

type AnyDatabase = Record<string, Record<string, unknown>>

const requireEmpty = async <T>(
  database: Database<T>,
  tables: readonly TableDefinition[],
): Promise<void> => {
  for (const { name } of tables)
    if ((await countRows(database, name)) > 0)
      throw new ShoalError('conflict', `the target has rows in ${name}; it must be empty`)
}

const countRows = <T>({ read }: Database<T>, table: string): Promise<number> =>
  countMatchingRows((read as unknown as Kysely<AnyDatabase>).selectFrom(table))

const copyDatabase = async <T>(
  from: Database<T>,
  to: Database<T>,
  tables: readonly TableDefinition[],
): Promise<Record<string, number>> => {
  const source = from.read as unknown as Kysely<AnyDatabase>
  await to.sealed.write(async trx => {
    const target = trx as unknown as Kysely<AnyDatabase>
    for (const { name, key } of tables)
      for await (const rows of readPages(source, name, key))
        await target.insertInto(name).values(rows).execute()
  })
  const counts: Record<string, number> = {}
  for (const { name: table } of tables) {
    const [before, after] = [await countRows(from, table), await countRows(to, table)]
    if (before !== after)
      throw new ShoalError(
        'internal',
        `${table} has ${after} rows in the copy and ${before} before`,
      )
    counts[table] = after
  }
  return counts
}

async function* readPages(
  source: Kysely<AnyDatabase>,
  table: string,
  key: readonly string[],
): AsyncGenerator<Record<string, unknown>[]> {
  for (let last: Record<string, unknown> | undefined; ; ) {
    let query: SelectQueryBuilder<AnyDatabase, string, Record<string, unknown>> = source
      .selectFrom(table)
      .selectAll()
      .limit(PAGE)
    for (const column of key) query = query.orderBy(column)
    const before = last
    if (before !== undefined)
      query = query.where(
        sql<boolean>`(${sql.join(key.map(column => sql.ref(column)))})
          > (${sql.join(key.map(column => before[column]))})`,
      )
    const rows = await query.execute()
    if (rows.length > 0) yield rows
    if (rows.length < PAGE) return
    last = rows.at(-1)
  }
}
