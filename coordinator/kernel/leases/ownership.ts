import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { LedgerTables } from '../store/tables.ts'

/** Time that a process counts as live after it has last renewed its row, in milliseconds. */
export const LIVES_MS = 3000
/** Time after the last renewal from which on what a process owns counts as abandoned. */
export const LEASE_MS = 15_000

/**
 * What this process owns in the store: rows that name its id, under the one row of the process.
 * Whoever writes such a row as its owner states the id in the condition of the statement, which is
 * the fence: a process that was away for longer than its lease finds another id there.
 */
export interface Ownership {
  /** Id of this process, new at every start: the same as that of its replica. */
  readonly id: string
  /**
   * Renews the row of this process if its heartbeat is late. Part of each transaction that takes
   * something, so that the owner is live in the moment in which its id is stored.
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
