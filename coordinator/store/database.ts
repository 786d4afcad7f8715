import { chmod, open } from 'node:fs/promises'
import { Kysely, type Transaction } from 'kysely'
import type { Migration } from 'kysely/migration'
import { ShoalError } from '../../shared/errors.ts'
import { createWriter, type Writer, type WriterOptions } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { connect, isBusy, type Synchronous } from './sqlite.ts'

/** One database file: a connection for reads and one for the queue of writes. */
export interface Database<T> extends Writer<T> {
  /** Sees what is committed, never the middle of a transaction. */
  read: Kysely<T>
  /** Changes when another process or another `Store` has committed. */
  dataVersion(): number
  /**
   * Unix milliseconds by the clock of the database, which all processes on it share: for leases.
   * SQLite has none of its own and its processes run on one machine, whose clock it is.
   */
  nowMs(trx: Transaction<T>): Promise<number>
  /** A setting of the writing connection, as SQLite spells it: for tests and for diagnosis. */
  pragma(text: string): unknown
}

export interface DatabaseOptions<T> extends Omit<WriterOptions<T>, 'isBusy'> {
  name: string
  synchronous: Synchronous
  migrations: Record<string, Migration>
  /** Unix milliseconds. */
  now?: (() => number) | undefined
}

/** Opens or makes the file, readable by its owner alone, and brings its schema up to date. */
export const openDatabase = async <T>(
  path: string,
  { name, synchronous, migrations, now = Date.now, ...options }: DatabaseOptions<T>,
): Promise<Database<T>> => {
  await makePrivate(path)
  const writing = connect(path, 'writer', synchronous)
  const writeSide = new Kysely<T>({ dialect: writing.dialect })
  try {
    await migrate(writeSide, name, migrations)
    writing.beImpatient()
    const reading = connect(path, 'reader', synchronous)
    const read = new Kysely<T>({ dialect: reading.dialect })
    const writer = createWriter(writeSide, { isBusy, ...options })
    const close = async (): Promise<void> => {
      await writer.close()
      reading.close()
      writing.close()
    }
    const { dataVersion, pragma } = writing
    const { write, freeze } = writer
    const nowMs = async (): Promise<number> => now()
    return { read, write, freeze, nowMs, dataVersion, pragma, close }
  } catch (error) {
    writing.close()
    throw error
  }
}

/** SQLite gives its -wal and -shm files the mode of the database (sqlite.org/src, os_unix.c). */
const makePrivate = async (path: string): Promise<void> => {
  try {
    const file = await open(path, 'a', 0o600)
    await file.close()
    await chmod(path, 0o600)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('store_unavailable', `cannot use ${path} (${code})`, { cause })
  }
}
