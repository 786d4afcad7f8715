import Sqlite from 'better-sqlite3'

/**
 * Copies a database that others write to into one file (sqlite.org/backup.html). Throws ENOSPC and EIO
 * as the file system does.
 */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  const source = new Sqlite(from, { readonly: true, fileMustExist: true })
  try {
    // any commit between two steps of the copy would start it again, unless it reads one snapshot
    source.exec('begin')
    source.prepare('select 1 from sqlite_schema').get()
    await source.backup(to).catch(rethrowFileError)
  } finally {
    source.close()
  }
  const copy = new Sqlite(to)
  try {
    // a copy without a log is one file
    copy.pragma('journal_mode = delete')
  } finally {
    copy.close()
  }
}

/** Codes of SQLite for a file that cannot be read or written (sqlite.org/rescode.html). */
const UNUSABLE_FILE = /^SQLITE_(IOERR|CANTOPEN|READONLY)/

const rethrowFileError = (cause: { code?: string }): never => {
  const { code = '' } = cause
  const syscall = 'copy'
  if (code === 'SQLITE_FULL')
    throw Object.assign(new Error('the disk is full', { cause }), { code: 'ENOSPC', syscall })
  if (UNUSABLE_FILE.test(code))
    throw Object.assign(new Error('a file is not usable', { cause }), { code: 'EIO', syscall })
  throw cause
}

/** Reason why a database file is damaged; undefined for a sound one (PRAGMA integrity_check). */
export const findDatabaseFault = (path: string): string | undefined => {
  const database = new Sqlite(path, { readonly: true })
  try {
    const result = database.pragma('integrity_check', { simple: true })
    return result === 'ok' ? undefined : String(result)
  } catch (error) {
    const { code, message } = error as InstanceType<typeof Sqlite.SqliteError>
    if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) return message
    throw error
  } finally {
    database.close()
  }
}

/** Number and hash of the last row of the audit in a ledger file; undefined without rows. */
export const readLastAuditRow = (path: string): { seq: number; hash: string } | undefined => {
  const ledger = new Sqlite(path, { readonly: true })
  try {
    const text = 'select seq, hash from audit order by seq desc limit 1'
    return ledger.prepare<[], { seq: number; hash: string }>(text).get()
  } finally {
    ledger.close()
  }
}
