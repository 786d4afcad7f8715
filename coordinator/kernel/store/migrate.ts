import type { Kysely, Transaction } from 'kysely'
import { DEFAULT_MIGRATION_LOCK_TABLE, DEFAULT_MIGRATION_TABLE, Migrator } from 'kysely/migration'
import { ShoalError } from '../../../shared/errors.ts'
import { VERSION } from '../../../shared/version.ts'
import { type ExecutedMigration, listExecuted, recordCompatibility } from './migration-log.ts'
import { isOlder, type StoreMigration } from './store-migration.ts'

export interface MigrationPlan<T> {
  /** Name of the database in messages. */
  name: string
  migrations: Record<string, StoreMigration>
  /** Suffix of the names of the bookkeeping tables, where two databases share one schema. */
  suffix?: string
  /**
   * Versions of the coordinators that run on the database; no other one registers until the end of
   * the transaction. By default there are none.
   */
  listVersions?: (trx: Transaction<T>) => Promise<readonly string[]>
  /** Version of this program. */
  version?: string
}

/**
 * Brings a database to this version's schema, in one transaction, and returns the names of
 * contracting migrations that wait for older coordinators to stop. Throws `config_invalid` for a
 * database of a newer shoal that this one is not compatible with, and while a coordinator runs that
 * a needed migration would break.
 */
export const migrate = async <T>(db: Kysely<T>, plan: MigrationPlan<T>): Promise<string[]> => {
  // without the lock of a transaction, which a running coordinator may hold
  const executed = await listExecuted(db, tableOf(plan))
  if (findPending(plan, executed).length === 0) return []
  return db.transaction().execute(trx => migrateWithin(trx, plan))
}

const tableOf = ({ suffix = '' }: { suffix?: string }): string =>
  `${DEFAULT_MIGRATION_TABLE}${suffix}`

/** Names of the migrations that a database lacks. */
const findPending = <T>(
  { name, migrations, version = VERSION }: MigrationPlan<T>,
  executed: readonly ExecutedMigration[],
): string[] => {
  for (const { name: migration, compatibleFrom } of executed) {
    if (Object.hasOwn(migrations, migration)) continue
    if (compatibleFrom !== null && !isOlder(version, compatibleFrom)) continue
    const message = `${name} was written by a newer shoal (it knows ${migration}); this is ${version}`
    throw new ShoalError('config_invalid', message)
  }
  const done = new Set(executed.map(({ name }) => name))
  return Object.keys(migrations).filter(migration => !done.has(migration))
}

const migrateWithin = async <T>(trx: Transaction<T>, plan: MigrationPlan<T>): Promise<string[]> => {
  const executed = await listExecuted(trx, tableOf(plan))
  const pending = findPending(plan, executed)
  if (pending.length === 0) return []
  const running = (await plan.listVersions?.(trx)) ?? []
  const waiting = pending.filter(migration => mustWait(plan, migration, running))
  const due = pending.filter(migration => !waiting.includes(migration))
  if (due.length > 0) await execute(trx, plan, executed, due)
  return waiting
}

/** Throws `config_invalid` for a migration that cannot wait. */
const mustWait = <T>(
  { name, migrations, version = VERSION }: MigrationPlan<T>,
  migration: string,
  running: readonly string[],
): boolean => {
  const { compatibleFrom = version, isContraction = false } = migrations[
    migration
  ] as StoreMigration
  const older = running.find(other => isOlder(other, compatibleFrom))
  if (older !== undefined && !isContraction)
    throw new ShoalError(
      'config_invalid',
      `${name}: stop the coordinators before ${compatibleFrom} first (one is ${older}); they cannot use it after ${migration}`,
    )
  return older !== undefined
}

const execute = async <T>(
  trx: Transaction<T>,
  plan: MigrationPlan<T>,
  executed: readonly ExecutedMigration[],
  due: readonly string[],
): Promise<void> => {
  const { migrations, suffix = '' } = plan
  const known = [...executed.map(({ name }) => name), ...due]
  const migrator = new Migrator({
    db: trx,
    provider: {
      // those of a newer program count as known: they are done
      getMigrations: async () =>
        Object.fromEntries(known.map(name => [name, migrations[name] ?? DONE])),
    },
    migrationTableName: tableOf(plan),
    migrationLockTableName: `${DEFAULT_MIGRATION_LOCK_TABLE}${suffix}`,
    // two that were made at the same time have the same number: either may have come first
    allowUnorderedMigrations: true,
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
  const added = due.map(name => ({
    name,
    compatibleFrom: migrations[name]?.compatibleFrom ?? null,
  }))
  await recordCompatibility(trx, tableOf(plan), added)
}

const DONE: StoreMigration = { up: async () => {} }
