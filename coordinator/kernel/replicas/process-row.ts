import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { LEASE_MS, LIVES_MS, type Ownership } from '../leases/ownership.ts'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { type Replica, replicaTable } from './replica.table.ts'

type Trx = Transaction<LedgerTables>

/** The one row of this process on a shared store: proof that it is live, and the lease of its work. */
export interface ProcessRow extends Ownership {
  add(trx: Trx, hasCells: boolean): Promise<void>
  /** Renews the row; returns false when it has gone, as after a copy of the store. */
  renew(trx: Trx, hasCells: boolean): Promise<boolean>
  /** Removes row and lease, so that other processes may take what this one owned at once. */
  remove(trx: Trx): Promise<void>
}

interface ProcessRowParts {
  ledger: Pick<Ledger, 'nowMs'>
  self: Omit<Replica, 'startedAt'>
}

/** Remaining life below which the heartbeat counts as late. */
const LATE_MS = LIVES_MS / 3

export const createProcessRow = ({ ledger, self }: ProcessRowParts): ProcessRow => {
  const { id } = self

  const extend = async (trx: Trx, now: number, change: { hasCells?: boolean }) => {
    const { numUpdatedRows } = await trx
      .updateTable('replicas')
      .set(replicaTable.writeSome({ ...change, until: now + LIVES_MS }))
      .where('id', '=', id)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) await writeOlderLease(trx, id, now)
    return numUpdatedRows > 0n
  }

  return {
    id,
    add: async (trx, hasCells) => {
      const now = await ledger.nowMs(trx)
      const until = now + LIVES_MS
      await trx
        .insertInto('replicas')
        .values(replicaTable.write({ ...self, startedAt: now, until, hasCells }))
        .onConflict(conflict => conflict.column('id').doUpdateSet({ until }))
        .execute()
      await trx.deleteFrom('task_workers').where('lease_until', '<=', now).execute()
      await writeOlderLease(trx, id, now)
    },
    renew: async (trx, hasCells) => extend(trx, await ledger.nowMs(trx), { hasCells }),
    keep: async trx => {
      const now = await ledger.nowMs(trx)
      const query = trx.selectFrom('replicas').select('until').where('id', '=', id)
      const row = await query.executeTakeFirst()
      if (row === undefined) throw createUnregisteredError()
      if (Number(row.until) < now + LATE_MS) await extend(trx, now, {})
    },
    remove: async trx => {
      await trx.deleteFrom('task_workers').where('id', '=', id).execute()
      await trx.deleteFrom('replicas').where('id', '=', id).execute()
    },
  }
}

/** The next heartbeat registers again, unless a command has exclusive use of the store. */
const createUnregisteredError = (): ShoalError =>
  new ShoalError('store_unavailable', 'this coordinator is temporarily not registered; try again', {
    retryAfterSeconds: 1,
  })

/** Writes the same lease where coordinators before 0.1.0 look for it: they do not read `replicas`. */
const writeOlderLease = async (trx: Trx, id: string, now: number): Promise<void> => {
  const row = { id, lease_until: now + LEASE_MS }
  await trx
    .insertInto('task_workers')
    .values(row)
    .onConflict(conflict => conflict.column('id').doUpdateSet(row))
    .execute()
}
