import { runAfterCommit } from './after-commit.ts'
import { type ChangeHook, withChangeHook } from './change-hook.ts'
import type {
  Database,
  DatabaseDefinition,
  EngineOptions,
  LaneObserver,
  StoreEngine,
} from './engine.ts'
import type { SealedTransaction } from './lanes.ts'
import { loadTableMigrations } from './load-tables.ts'
import { ledgerMigrations } from './migrations.ts'
import type { StorePlace } from './place.ts'
import { recordMigrations } from './record-migrations.ts'
import { type Revisions, watchRevisions } from './revisions.ts'
import { hasStoreIn, requireFolder, sqliteEngine } from './sqlite/sqlite-engine.ts'
import type { LedgerTables, RecordTables } from './tables.ts'
import { readTrouble, refusalFor } from './trouble.ts'

export { copyDatabase, findDatabaseFault, readLastAuditRow } from './sqlite/database-file.ts'

export type Ledger = Database<LedgerTables>
export type Records = Database<RecordTables>
/** Transaction of a work in the ledger's sealed lane; see `lanes.ts`. */
export type SealedTrx = SealedTransaction<LedgerTables>

/** The coordinator's memory: two databases. */
export interface Store {
  /** Data that must survive loss of power: access rights, quotas, audit. */
  ledger: Ledger
  /** Data whose last moments may be lost with the power: usage. */
  records: Records
  /** Reports when another process has changed what this one may have cached. */
  revisions: Revisions
  /** True where coordinators on several machines may share the store. */
  isShared: boolean
  close(): Promise<void>
}

export interface StoreOptions
  extends EngineOptions,
    Pick<DatabaseDefinition<unknown>, 'wait' | 'queueLimit' | 'now' | 'mustExist'> {
  /** Interval of the poll for changes by other processes; 0 disables it. */
  pollMilliseconds?: number
  /** Run around the changes of each database, the first one innermost. */
  hooks?: StoreHooks
  observers?: Partial<Record<DatabaseDefinition<unknown>['name'], LaneObserver>>
}

export interface StoreHooks {
  ledger?: readonly ChangeHook<LedgerTables>[]
  records?: readonly ChangeHook<RecordTables>[]
}

/**
 * Opens the store in a folder or in a PostgreSQL database. Throws ShoalError `config_invalid` when a newer shoal wrote it,
 * `store_unavailable` when it cannot be used.
 */
export const openStore = async (
  place: StorePlace,
  { pollMilliseconds = 500, hooks = {}, observers = {}, ...options }: StoreOptions = {},
): Promise<Store> => {
  const engine = await engineOf(place, options)
  const declared = await loadTableMigrations()
  const ledger = await engine
    .open<LedgerTables>({
      ...options,
      observer: observers.ledger,
      name: 'ledger',
      survives: 'power_loss',
      migrations: { ...ledgerMigrations(engine.schema), ...declared.ledger },
      refusal: async trx => {
        const reason = await readTrouble(trx)
        return reason === undefined ? undefined : refusalFor(reason)
      },
    })
    .catch(async error => {
      await engine.close()
      throw error
    })
  const records = await engine
    .open<RecordTables>({
      ...options,
      observer: observers.records,
      name: 'records',
      survives: 'process_end',
      migrations: { ...recordMigrations, ...declared.records },
    })
    .catch(async error => {
      await ledger.close()
      await engine.close()
      throw error
    })
  const revisions = watchRevisions(ledger, {
    pollMilliseconds,
    isShared: engine.isShared,
    runtime: options.runtime,
  })
  return {
    ledger: [runAfterCommit, ...(hooks.ledger ?? [])].reduce(withChangeHook, ledger),
    records: (hooks.records ?? []).reduce(withChangeHook, records),
    revisions,
    isShared: engine.isShared,
    close: async () => {
      revisions.close()
      await records.close()
      await ledger.close()
      await engine.close()
    },
  }
}

/** The driver of PostgreSQL is loaded only where it is used: it takes 9 MB. */
const engineOf = async (place: StorePlace, options: EngineOptions): Promise<StoreEngine> => {
  if (typeof place === 'string') return sqliteEngine(place, options)
  const { postgresEngine } = await import('./postgres/postgres-engine.ts')
  return postgresEngine(place, options)
}

/** Programs of PostgreSQL that dump and restore a whole database. */
export const loadPostgresTools = () => import('./postgres/postgres-tools.ts')

/** True for the folder of a SQLite store. */
export const isStoreFolder = (folder: string): boolean => hasStoreIn(folder)

/** Throws `not_found` for a folder without a store. A database is looked at when it is opened. */
export const requireStore = (place: StorePlace): void => {
  if (typeof place === 'string') requireFolder(place)
}
