import { type RawBuilder, sql, type Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'

type Trx = Transaction<LedgerTables>

/**
 * Lease of a process in milliseconds; without a renewal the process counts as gone and its tasks as
 * interrupted.
 */
export const LEASE_MS = 15_000
const BEAT_MS = LEASE_MS / 6

/** Error for a task that another live process is running. */
export class TaskElsewhereError extends ShoalError {
  constructor(taskId: string) {
    super('conflict', `task ${taskId} is at work in another process`)
  }
}

interface LeaseParts {
  /** Id of the process, unique across processes and restarts. */
  worker: string
  /** Clock of the store, which all processes share. */
  nowMs: Ledger['nowMs']
}

/** Ownership of tasks by processes; one lease covers all tasks of a process. */
export interface ProcessLease {
  /** Renews the lease of this process; writes at most every few seconds. */
  keep(trx: Trx): Promise<void>
  /** Takes ownership of a task. Throws `TaskElsewhereError` while another live process owns it. */
  take(trx: Trx, taskId: string): Promise<void>
  /** Ends the lease, so that other processes may take its tasks at once. */
  end(trx: Trx): Promise<void>
}

/** SQL condition for rows that are owned by this process or by no live process. */
export const isLeft = (
  column: string,
  { worker, now }: { worker: string; now: number },
): RawBuilder<boolean> => {
  const of = sql.ref(column)
  return sql`(${of} is null or ${of} = ${worker} or ${of} not in
    (select task_workers.id from task_workers where task_workers.lease_until > ${now}))`
}

export const createLease = ({ worker, nowMs }: LeaseParts): ProcessLease => {
  /** Remaining lease, read from the store because a failed transaction undoes its renewal. */
  const leftMs = async (trx: Trx, at: number): Promise<number> => {
    const query = trx.selectFrom('task_workers').select('lease_until').where('id', '=', worker)
    return Number((await query.executeTakeFirst())?.lease_until ?? 0) - at
  }

  const keep: ProcessLease['keep'] = async trx => {
    const at = await nowMs(trx)
    const left = await leftMs(trx, at)
    if (left > LEASE_MS - BEAT_MS && left < LEASE_MS + BEAT_MS) return
    const row = { id: worker, lease_until: at + LEASE_MS }
    await trx
      .insertInto('task_workers')
      .values(row)
      .onConflict(clause => clause.column('id').doUpdateSet(row))
      .execute()
    await trx.deleteFrom('task_workers').where('lease_until', '<=', at).execute()
  }

  const take: ProcessLease['take'] = async (trx, taskId) => {
    await keep(trx)
    const taken = await trx
      .updateTable('task_runs')
      .set({ worker })
      .where('task_id', '=', taskId)
      .where(isLeft('worker', { worker, now: await nowMs(trx) }))
      .executeTakeFirst()
    if (taken.numUpdatedRows === 0n) throw new TaskElsewhereError(taskId)
  }

  const end: ProcessLease['end'] = async trx => {
    await trx.deleteFrom('task_workers').where('id', '=', worker).execute()
  }

  return { keep, take, end }
}
