import { parentPort } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'

/* Thread of `checkpointer.ts`: each message is the path of a database, and so is each answer. */

const checkpoint = (path: string): void => {
  const database = new Sqlite(path, { fileMustExist: true })
  try {
    database.pragma('wal_checkpoint(passive)')
  } finally {
    database.close()
  }
}

parentPort?.on('message', (path: string) => {
  try {
    checkpoint(path)
  } catch {
    // a disk that takes nothing is reported by the writes themselves
  }
  parentPort?.postMessage(path)
})
