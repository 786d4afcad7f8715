import { parentPort } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'

/* Thread of `checkpointer.ts`: each message names a database and how its log is checkpointed. */

export interface CheckpointOrder {
  path: string
  /** `truncate` waits for readers and writers, and leaves an empty log. */
  mode: 'passive' | 'truncate'
}

/** Returns true when nothing kept it from checkpointing. */
const checkpoint = ({ path, mode }: CheckpointOrder): boolean => {
  const database = new Sqlite(path, { fileMustExist: true })
  try {
    const [row] = database.pragma(`wal_checkpoint(${mode})`) as { busy: number }[]
    return row?.busy === 0
  } finally {
    database.close()
  }
}

parentPort?.on('message', (order: CheckpointOrder) => {
  let isDone = false
  try {
    isDone = checkpoint(order)
  } catch {
    // a disk that takes nothing is reported by the writes themselves
  }
  parentPort?.postMessage(isDone)
})
