import { existsSync } from 'node:fs'
import { chmod, mkdir, open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Kysely, sql } from 'kysely'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import type { Database, DatabaseDefinition, EngineOptions, StoreEngine } from '../engine.ts'
import { faultOf } from '../faults.ts'
import { GroupCommit } from '../group-commit.ts'
import { migrate } from '../migrate.ts'
import { isAppendOnly, sqliteSchema } from './append-only.ts'
import { Checkpointer } from './checkpointer.ts'
import { connect } from './connection.ts'
import { createThreadDialect } from './dialect.ts'
import { insertNew } from './insert-new.ts'
import { ScanThread } from './scan-thread.ts'

/**
 * One file per database in a folder that only its owner can enter, made when it is not there. A
 * database is a connection for reads and one for the queue of writes. Several processes may open
 * one folder. Throws ShoalError `store_unavailable` for a folder or file that cannot be used.
 */
export const sqliteEngine = (
  folder: string,
  { logger }: Pick<EngineOptions, 'logger'> = {},
): StoreEngine => {
  const checkpointer = new Checkpointer()
  const isOld = hasStoreIn(folder)
  return {
    schema: sqliteSchema,
    isShared: false,
    open: async definition => {
      if (definition.mustExist) requireFolder(folder)
      await makeFolderPrivate(folder)
      const file = fileOf(definition.name)
      if (isOld && !existsSync(join(folder, file))) {
        if (definition.mustExist) throw createMissingError(folder, file)
        logger?.warn({ file: resolve(folder, file) }, MISSING)
      }
      return openFile(folder, definition, checkpointer).catch(error => {
        throw faultOf(error) === 'damaged'
          ? createDamagedError(resolve(folder, file), error)
          : error
      })
    },
    close: () => checkpointer.close(),
  }
}

/** True for a folder in which a store was made before. */
export const hasStoreIn = (folder: string): boolean => existsSync(join(folder, fileOf('ledger')))

/** A mistyped folder must not become a new, empty store. Throws `not_found`. */
export const requireFolder = (folder: string): void => {
  if (hasStoreIn(folder)) return
  throw new ShoalError(
    'not_found',
    `there is no store in ${resolve(folder)}: name the coordinator's folder with --state-dir, its PostgreSQL database with --config, --store-url or SHOAL_STORE_URL, or make a store with init`,
  )
}

const MISSING =
  'a database of the store is missing and is created empty: if it was deleted, stop the coordinator and restore a copy'

/** A command must not create an empty database in place of a lost one. */
const createMissingError = (folder: string, file: string): ShoalError =>
  new ShoalError(
    'not_found',
    `${file} is missing in ${resolve(folder)}, although the rest of the store exists: stop the coordinator and restore a copy, or start the coordinator, which creates it empty`,
  )

const createDamagedError = (path: string, { message, cause }: Error): ShoalError =>
  new ShoalError(
    'store_unavailable',
    `${path}: ${message}; stop the coordinator and restore a copy of the file`,
    { cause },
  )

const fileOf = (name: DatabaseDefinition<unknown>['name']): string => `${name}.db`

const openFile = async <T>(
  folder: string,
  { name, survives, migrations, ...options }: DatabaseDefinition<T>,
  checkpointer: Checkpointer,
): Promise<Database<T>> => {
  const { runtime = systemRuntime, now = runtime.now } = options
  const path = join(folder, fileOf(name))
  await makeFilePrivate(path)
  const writing = connect(path, 'writer', survives)
  const writeSide = new Kysely<T>({ dialect: writing.dialect })
  try {
    await migrate(writeSide, { name: fileOf(name), migrations })
    writing.disableBusyTimeout()
    const reading = connect(path, 'reader', survives)
    const read = new Kysely<T>({ dialect: reading.dialect })
    const thread = new ScanThread(path)
    const queue = new GroupCommit(writeSide, options)
    const stopWatching = checkpointer.watch({ path, countPages: reading.countLogPages })
    return {
      ...queue.lanes(),
      read,
      scan: new Kysely<T>({ dialect: createThreadDialect(thread) }),
      urgentRead: read,
      outage: () => undefined,
      freeze: reason => queue.freeze(reason),
      unfreeze: () => queue.unfreeze(),
      foreignCommits: writing.dataVersion,
      nowMs: async () => now(),
      clock: async () => ({ nowMs: now(), history: '' }),
      skipLocked: sql``,
      insertNew,
      isAppendOnly: table => isAppendOnly(read, table),
      // no other coordinator uses the file: none has waited
      finishMigrations: async () => [],
      overwriteDeleted: () => checkpointer.emptyLog(path),
      close: async () => {
        stopWatching()
        await queue.close()
        await thread.close()
        reading.close()
        writing.close()
      },
    }
  } catch (error) {
    writing.close()
    throw error
  }
}

const makeFolderPrivate = async (folder: string): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('store_unavailable', `cannot use folder ${folder} (${code})`, { cause })
  }
}

/** SQLite gives its -wal and -shm files the mode of the database (sqlite.org/src, os_unix.c). */
const makeFilePrivate = async (path: string): Promise<void> => {
  try {
    const file = await open(path, 'a', 0o600)
    await file.close()
    await chmod(path, 0o600)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('store_unavailable', `cannot use ${path} (${code})`, { cause })
  }
}
