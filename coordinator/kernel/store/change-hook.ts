import type { Transaction } from 'kysely'
import type { Database } from './engine.ts'
import type { Lane, LaneName, WriteWork } from './lanes.ts'

/**
 * Runs around every change of a database: `commit` takes the work, or one that does more in the
 * same transaction. The options of the write are kept whatever a hook does.
 */
export type ChangeHook<T> = <R, Trx extends Transaction<T>>(
  work: WriteWork<Trx, R>,
  commit: (work: WriteWork<Trx, R>) => Promise<R>,
  lane: LaneName,
) => Promise<R>

/** Returns the database with a hook around each of its changes. */
export const withChangeHook = <T>(database: Database<T>, hook: ChangeHook<T>): Database<T> => ({
  ...database,
  sealed: hookLane(database.sealed, hook, 'sealed'),
  free: hookLane(database.free, hook, 'free'),
})

const hookLane = <T, Trx extends Transaction<T>>(
  lane: Lane<Trx>,
  hook: ChangeHook<T>,
  name: LaneName,
): Lane<Trx> => ({
  write: (work, options) => hook(work, changed => lane.write(changed, options), name),
})
