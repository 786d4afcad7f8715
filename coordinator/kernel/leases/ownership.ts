import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Logger } from 'pino'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'

type Trx = Transaction<LedgerTables>

/**
 * Lease of a process in milliseconds; without a renewal the process counts as gone and what it owns
 * as abandoned.
 */
export const LEASE_MS = 15_000
const BEAT_MS = LEASE_MS / 6

/**
 * What this process owns in the store: rows that name its id, under one lease for all of them.
 * Whoever writes such a row as its owner states the id in the condition of the statement, which is
 * the fence: a process that was away for longer than its lease finds another id there.
 */
export interface Ownership {
  /** Id of this process, new at every start: the same as that of its replica. */
  readonly id: string
  /**
   * Renews the lease; writes at most every few seconds. Part of each transaction that takes
   * something, so that the owner is live in the moment in which its id is stored.
   */
  keep(trx: Trx): Promise<void>
  /** Adds a function that is true while this process owns something; the lease is renewed meanwhile. */
  watch(hasWork: () => boolean): void
  /** Renews the lease where something is owned. Never rejects. */
  renew(): Promise<void>
  /** Ends the lease, so that other processes may take what is left at once. */
  end(trx: Trx): Promise<void>
}

interface OwnershipParts {
  id: string
  ledger: Pick<Ledger, 'free' | 'nowMs'>
  logger: Pick<Logger, 'warn'>
}

/** Process that looks for abandoned rows, and its time by the clock of the store. */
export interface OwnerQuery {
  id: string
  now: number
}

/** SQL condition for rows that this process or no live one owns, by the column of the owner. */
export const isLeft = (column: string, { id, now }: OwnerQuery): RawBuilder<boolean> => {
  const owner = sql.ref(column)
  return sql`(${owner} is null or ${owner} = ${id} or ${owner} not in
    (select task_workers.id from task_workers where task_workers.lease_until > ${now}))`
}

/** The lease is a row of `task_workers`, where coordinators before 0.1.0 look for owners, too. */
export const createOwnership = ({ id, ledger, logger }: OwnershipParts): Ownership => {
  const watched: (() => boolean)[] = []

  /** Remaining lease, read from the store because a failed transaction undoes its renewal. */
  const readLeftMs = async (trx: Trx, at: number): Promise<number> => {
    const query = trx.selectFrom('task_workers').select('lease_until').where('id', '=', id)
    return Number((await query.executeTakeFirst())?.lease_until ?? 0) - at
  }

  const keep: Ownership['keep'] = async trx => {
    const at = await ledger.nowMs(trx)
    const left = await readLeftMs(trx, at)
    if (left > LEASE_MS - BEAT_MS && left < LEASE_MS + BEAT_MS) return
    const row = { id, lease_until: at + LEASE_MS }
    await trx
      .insertInto('task_workers')
      .values(row)
      .onConflict(clause => clause.column('id').doUpdateSet(row))
      .execute()
    await trx.deleteFrom('task_workers').where('lease_until', '<=', at).execute()
  }

  return {
    id,
    keep,
    watch: hasWork => void watched.push(hasWork),
    renew: async () => {
      if (!watched.some(hasWork => hasWork())) return
      await ledger.free
        .write(keep, { isUrgent: true })
        .catch(error => logger.warn({ err: error }, 'the lease of this process was not renewed'))
    },
    end: async trx => {
      await trx.deleteFrom('task_workers').where('id', '=', id).execute()
    },
  }
}
