import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { LedgerTables } from '../store/tables.ts'

/**
 * Elects the coordinator that does the work which must happen once in a fleet: sweeps, retention,
 * schedules, guards. Such work starts only while `isLeader` is true, and each transaction that it
 * writes to the ledger begins with `requireLeader`, which fences a process that was superseded
 * meanwhile.
 */
export interface Leader {
  /**
   * True while this process leads, by its own clock; false from the moment its tenure may have
   * ended.
   */
  isLeader(): boolean
  /** Throws `conflict` when this process does not lead at the time of the transaction. */
  requireLeader(trx: Transaction<LedgerTables>): Promise<void>
  /** Gives up the lead, so that another process can take it at once. */
  close(): Promise<void>
}

export const createNotLeaderError = (): ShoalError =>
  new ShoalError('conflict', 'another coordinator leads the fleet now')
