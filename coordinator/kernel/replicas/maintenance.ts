import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { createLeases } from '../leases/leases.ts'
import type { Ledger, Store } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { selectLiveReplicas } from './live-rows.ts'

const MAINTENANCE_LEASE = 'maintenance'

/** Time in which the work must be done, so that no coordinator starts meanwhile. */
const WORK_MS = 3_600_000

/** True while a command has the store for itself. */
export const hasMaintenance = async (
  trx: Transaction<LedgerTables>,
  { nowMs }: Pick<Ledger, 'nowMs'>,
): Promise<boolean> => {
  const row = await trx
    .selectFrom('leases')
    .select('name')
    .where('name', '=', MAINTENANCE_LEASE)
    .where('until', '>', await nowMs(trx))
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Runs work on a store that no coordinator uses, and keeps coordinators from starting meanwhile.
 * Throws `conflict` while a coordinator or another such command uses it. SQLite has the lock of its
 * folder for that.
 */
export const runInMaintenance = async <T>(
  { ledger, isShared }: Pick<Store, 'ledger' | 'isShared'>,
  run: () => Promise<T>,
): Promise<T> => {
  if (!isShared) return run()
  const leases = createLeases(ledger)
  const claim = { name: MAINTENANCE_LEASE, owner: newId('maintenance'), milliseconds: WORK_MS }
  const lease = await leases.acquire(claim)
  if (lease === undefined)
    throw new ShoalError(
      'conflict',
      'another command has exclusive use of the store: wait until it has finished',
    )
  try {
    await requireNoReplicas(ledger)
    return await run()
  } finally {
    await leases.release(lease)
  }
}

/**
 * Requires that no replica is registered. The check is sealed, as the registration is: one of the
 * two sees the other.
 */
const requireNoReplicas = (ledger: Ledger): Promise<void> =>
  ledger.sealed.write(
    async trx => {
      const live = await selectLiveReplicas(trx, await ledger.nowMs(trx))
        .select('replicas.id')
        .executeTakeFirst()
      if (live !== undefined)
        throw new ShoalError('conflict', 'a coordinator uses the store: stop it first')
    },
    { evenFrozen: true },
  )
