import { type Kysely, sql, type Transaction } from 'kysely'
import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  type Migration,
  Migrator,
} from 'kysely/migration'
import { ShoalError } from '../../shared/errors.ts'
import { VERSION } from '../../shared/version.ts'

export interface MigrationPlan {
  /** Name of the database in messages. */
  name: string
  migrations: Record<string, Migration>
  /** Added to the names of the bookkeeping tables, where two databases share one schema. */
  suffix?: string
}

/**
 * Brings a database to this version's schema, in one transaction. Throws `config_invalid` for one
 * that a newer shoal has written: an older one must not touch what it does not know.
 */
export const migrate = async <T>(db: Kysely<T>, plan: MigrationPlan): Promise<void> => {
  // without the lock of a transaction, which a running coordinator may hold
  if (await isCurrent(db, plan)) return
  await db.transaction().execute(trx => migrateWithin(trx, plan))
}

/** Throws `config_invalid` for a database that has migrations besides these. */
const isCurrent = async <T>(
  db: Kysely<T>,
  { name, migrations, suffix = '' }: MigrationPlan,
): Promise<boolean> => {
  const done = await listExecuted(db, `${DEFAULT_MIGRATION_TABLE}${suffix}`)
  const unknown = done.find(migration => !Object.hasOwn(migrations, migration))
  if (unknown !== undefined) throw createTooNewError(name, unknown)
  return done.length === Object.keys(migrations).length
}

const migrateWithin = async <T>(trx: Transaction<T>, plan: MigrationPlan): Promise<void> => {
  const { migrations, suffix = '' } = plan
  if (await isCurrent(trx, plan)) return
  const migrator = new Migrator({
    db: trx,
    provider: { getMigrations: async () => migrations },
    migrationTableName: `${DEFAULT_MIGRATION_TABLE}${suffix}`,
    migrationLockTableName: `${DEFAULT_MIGRATION_LOCK_TABLE}${suffix}`,
    // two that were made at the same time have the same number: either may have come first
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

const listExecuted = async <T>(db: Kysely<T>, migrationTable: string): Promise<string[]> => {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(table => table.name === migrationTable)) return []
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(migrationTable)}`.execute(db)
  return rows.map(row => row.name)
}
