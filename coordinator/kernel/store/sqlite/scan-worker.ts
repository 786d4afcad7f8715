import { parentPort, workerData } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'

/* Thread of `scan-thread.ts`: reads one database, one query after another. */

export interface ScanOrder {
  id: number
  text: string
  values: readonly unknown[]
}

export interface ScanAnswer {
  id: number
  rows?: unknown[]
  /** Error of SQLite with its result code; without the code, another one. */
  fault?: { message: string; code: string | undefined }
}

/** Wait for a lock of another process: nothing else waits for this thread. */
const LOCK_WAIT_MS = 5000

const { path } = workerData as { path: string }
const database = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: LOCK_WAIT_MS })

const answer = ({ id, text, values }: ScanOrder): ScanAnswer => {
  try {
    return { id, rows: database.prepare<unknown[]>(text).all(values) }
  } catch (error) {
    const { message } = error as Error
    const code = error instanceof Sqlite.SqliteError ? error.code : undefined
    return { id, fault: { message, code } }
  }
}

parentPort?.on('message', (order: ScanOrder) => parentPort?.postMessage(answer(order)))
