import { existsSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'
import { type Database, type DatabaseOptions, openDatabase } from './database.ts'
import { ledgerMigrations } from './migrations.ts'
import { recordMigrations } from './record-migrations.ts'
import type { RecordTables } from './record-tables.ts'
import { type Revisions, watchRevisions } from './revisions.ts'
import type { LedgerTables } from './tables.ts'
import { readTrouble, refusalFor } from './trouble.ts'

export type Ledger = Database<LedgerTables>
export type Records = Database<RecordTables>

/** The coordinator's memory: two files in one folder. */
export interface Store {
  /** What must survive loss of power: who may do what, quotas, audit. */
  ledger: Ledger
  /** What may lose its last moments when the power fails: usage. */
  records: Records
  /** Tells when another process changed what this one may have cached. */
  revisions: Revisions
  close(): Promise<void>
}

export interface StoreOptions
  extends Pick<DatabaseOptions<unknown>, 'wait' | 'queueLimit' | 'now'> {
  /** How often to look for changes by other processes; 0 for never. */
  pollMilliseconds?: number
}

/**
 * Opens the store in a folder that only its owner can enter, made when it is not there. Several
 * processes may open one folder. Throws ShoalError `config_invalid` when a newer shoal wrote it,
 * `store_unavailable` when a file cannot be used.
 */
export const openStore = async (
  folder: string,
  { pollMilliseconds = 500, ...options }: StoreOptions = {},
): Promise<Store> => {
  await makePrivate(folder)
  const ledger: Ledger = await openDatabase(join(folder, 'ledger.db'), {
    ...options,
    name: 'ledger.db',
    synchronous: 'full',
    migrations: ledgerMigrations,
    refusal: async trx => {
      const reason = await readTrouble(trx)
      return reason === undefined ? undefined : refusalFor(reason)
    },
  })
  const records = await openRecords(join(folder, 'records.db'), ledger, options)
  const revisions = watchRevisions(ledger, pollMilliseconds)
  const close = async (): Promise<void> => {
    revisions.close()
    await records.close()
    await ledger.close()
  }
  return { ledger, records, revisions, close }
}

/** A mistyped folder must not become a new, empty store. Throws `not_found`. */
export const requireStore = (folder: string): void => {
  if (existsSync(join(folder, 'ledger.db'))) return
  throw new ShoalError(
    'not_found',
    `there is no store in ${resolve(folder)}: name the coordinator's folder with --state-dir, or make one with init`,
  )
}

const makePrivate = async (folder: string): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('store_unavailable', `cannot use folder ${folder} (${code})`, { cause })
  }
}

const openRecords = async (
  path: string,
  ledger: Ledger,
  options: StoreOptions,
): Promise<Records> => {
  try {
    return await openDatabase(path, {
      ...options,
      name: 'records.db',
      synchronous: 'normal',
      migrations: recordMigrations,
    })
  } catch (error) {
    await ledger.close()
    throw error
  }
}
