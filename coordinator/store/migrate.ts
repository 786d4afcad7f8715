import { type Kysely, sql } from 'kysely'
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration'
import { ShoalError } from '../../shared/errors.ts'
import { VERSION } from '../../shared/version.ts'

/**
 * Brings a database to this version's schema, in one transaction. Throws `config_invalid` for one
 * that a newer shoal has written: an older one must not touch what it does not know.
 */
export const migrate = async <T>(
  db: Kysely<T>,
  name: string,
  migrations: Record<string, Migration>,
): Promise<void> => {
  const done = await listExecuted(db)
  const unknown = done.find(migration => !Object.hasOwn(migrations, migration))
  if (unknown !== undefined) throw createTooNewError(name, unknown)
  if (done.length === Object.keys(migrations).length) return
  // two that were made at the same time have the same number: either may have come first
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    allowUnorderedMigrations: true,
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

const createTooNewError = (name: string, migration: string) =>
  new ShoalError(
    'config_invalid',
    `${name} was written by a newer shoal (it knows ${migration}); this is ${VERSION}`,
  )

const listExecuted = async <T>(db: Kysely<T>): Promise<string[]> => {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(table => table.name === DEFAULT_MIGRATION_TABLE)) return []
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db)
  return rows.map(row => row.name)
}
