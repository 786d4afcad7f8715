import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { LedgerTables } from '../store/tables.ts'

/** Time that a process counts as live after it has last renewed its row, in milliseconds. */
export const LIVES_MS = 3000
/** Time after the last renewal at which the work of a process counts as abandoned, in milliseconds. */
export const LEASE_MS = 15_000

/**
 * Ownership of stored work by this process: owned rows name its id, and its one lease covers them
 * all. An owner that writes such a row states its id in the condition of the statement, which is the
 * fence: a process that was away for longer than its lease finds another id there.
 */
export interface Ownership {
  /** Id of this process, new at every start: the same as that of its replica. */
  readonly id: string
  /**
   * Renews the row of this process if its heartbeat is late. Part of each transaction that takes
   * something, so that the owner is live in the moment in which its id is stored. Throws
   * `store_unavailable` when the row has gone: other processes could take the same work at once.
   */
  keep(trx: Transaction<LedgerTables>): Promise<void>
}

/** Process that looks for abandoned rows, and its time by the clock of the store. */
export interface OwnerQuery {
  id: string
  now: number
}

/**
 * SQL condition for rows that this process or no live one owns, by the column of the owner. Owners
 * of coordinators before 0.1.0 are in `task_workers` alone.
 */
export const isLeft = (column: string, { id, now }: OwnerQuery): RawBuilder<boolean> => {
  const owner = sql.ref(column)
  return sql`(${owner} is null or ${owner} = ${id} or (
    ${owner} not in
      (select replicas.id from replicas where replicas.until > ${now - LEASE_MS + LIVES_MS})
    and ${owner} not in
      (select task_workers.id from task_workers where task_workers.lease_until > ${now})))`
}
