import { type Kysely, sql, type Transaction } from 'kysely'

/** A migration that a database has had. */
export interface ExecutedMigration {
  name: string
  /** First version of shoal that works with it; null when only programs that know it do. */
  compatibleFrom: string | null
}

/** Column that shoal adds to Kysely's own table of executed migrations. */
const COMPATIBLE_FROM = 'compatible_from'

/** Migrations that a database has had; none for a new one. */
export const listExecuted = async <T>(
  db: Kysely<T>,
  table: string,
): Promise<ExecutedMigration[]> => {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const columns = tables.find(({ name }) => name === table)?.columns
  if (columns === undefined) return []
  const hasColumn = columns.some(({ name }) => name === COMPATIBLE_FROM)
  const compatibleFrom = hasColumn ? sql.ref(COMPATIBLE_FROM) : sql.lit(null)
  const { rows } = await sql<ExecutedMigration>`
    select name, ${compatibleFrom} as ${sql.ref('compatibleFrom')}
    from ${sql.table(table)}`.execute(db)
  return rows
}

/** Adds what older and newer programs must know of migrations that were executed just now. */
export const recordCompatibility = async <T>(
  trx: Transaction<T>,
  table: string,
  executed: readonly ExecutedMigration[],
): Promise<void> => {
  const tables = await trx.introspection.getTables({ withInternalKyselyTables: true })
  const columns = tables.find(({ name }) => name === table)?.columns ?? []
  if (!columns.some(({ name }) => name === COMPATIBLE_FROM))
    await trx.schema.alterTable(table).addColumn(COMPATIBLE_FROM, 'text').execute()
  for (const { name, compatibleFrom } of executed)
    if (compatibleFrom !== null)
      await sql`update ${sql.table(table)}
        set ${sql.ref(COMPATIBLE_FROM)} = ${compatibleFrom} where name = ${name}`.execute(trx)
}
