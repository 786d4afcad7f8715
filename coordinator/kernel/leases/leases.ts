import type { Transaction } from 'kysely'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'

/** Proof of one tenure: the epoch is a fencing token, higher than that of every earlier holder. */
export interface HeldLease {
  name: string
  owner: string
  epoch: number
  /** End of the tenure unless it is renewed: unix milliseconds by the clock of the store. */
  until: number
}

/**
 * Named leases over all processes of a store: at most one owner holds a name at any time. Every
 * change is one conditional statement, and every time is read from the store's clock, so the clocks
 * of the processes need not agree.
 */
export interface Leases {
  /**
   * Takes a lease that is free, has run out, or is held by this owner already, under a new epoch.
   * Undefined while another owner holds it.
   */
  acquire(request: LeaseClaim): Promise<HeldLease | undefined>
  /** Prolongs a tenure. Undefined once it has run out or another owner has taken the lease. */
  renew(lease: HeldLease, milliseconds: number): Promise<HeldLease | undefined>
  /** Frees the lease at once, if this tenure still holds it. */
  release(lease: HeldLease): Promise<void>
  /** Returns the owner of a lease that has not run out. */
  readOwner(name: string): Promise<string | undefined>
  /**
   * True while the tenure holds, and in PostgreSQL until the transaction ends. The holder checks
   * this in each transaction in which it writes, so that nothing of an old epoch is committed.
   */
  holds(trx: Transaction<LedgerTables>, lease: HeldLease): Promise<boolean>
}

interface LeaseClaim {
  name: string
  /** Unique over all processes and their restarts. */
  owner: string
  milliseconds: number
}

/** A lease says who works, and nothing about what was done: it goes on while the audit is in doubt. */
const AT_ONCE = { evenFrozen: true, isUrgent: true }

export const createLeases = (ledger: Pick<Ledger, 'free' | 'nowMs'>): Leases => ({
  acquire: claim => ledger.free.write(trx => take(trx, claim, ledger.nowMs), AT_ONCE),

  renew: (lease, milliseconds) =>
    ledger.free.write(async trx => {
      const now = await ledger.nowMs(trx)
      const until = now + milliseconds
      const { numUpdatedRows } = await tenureOf(trx, lease)
        .where('until', '>', now)
        .set({ until })
        .executeTakeFirst()
      return numUpdatedRows === 0n ? undefined : { ...lease, until }
    }, AT_ONCE),

  release: lease =>
    ledger.free.write(async trx => {
      await tenureOf(trx, lease).set({ until: 0 }).execute()
    }, AT_ONCE),

  readOwner: name =>
    ledger.free.write(async trx => {
      const row = await trx
        .selectFrom('leases')
        .select('owner')
        .where('name', '=', name)
        .where('until', '>', await ledger.nowMs(trx))
        .executeTakeFirst()
      return row?.owner
    }, AT_ONCE),

  // an update and not a select, because it also locks the row against the next owner
  holds: async (trx, lease) => {
    const now = await ledger.nowMs(trx)
    const { numUpdatedRows } = await tenureOf(trx, lease)
      .where('until', '>', now)
      .set({ epoch: lease.epoch })
      .executeTakeFirst()
    return numUpdatedRows > 0n
  },
})

const take = async (
  trx: Transaction<LedgerTables>,
  { name, owner, milliseconds }: LeaseClaim,
  nowMs: Ledger['nowMs'],
): Promise<HeldLease | undefined> => {
  const now = await nowMs(trx)
  const until = now + milliseconds
  const row = await trx
    .insertInto('leases')
    .values({ name, owner, epoch: 1, until })
    .onConflict(conflict =>
      conflict
        .column('name')
        .doUpdateSet(old => ({ owner, until, epoch: old('leases.epoch', '+', 1) }))
        .where(old => old.or([old('leases.until', '<=', now), old('leases.owner', '=', owner)])),
    )
    .returning('epoch')
    .executeTakeFirst()
  return row && { name, owner, epoch: Number(row.epoch), until }
}

const tenureOf = (trx: Transaction<LedgerTables>, { name, owner, epoch }: HeldLease) =>
  trx
    .updateTable('leases')
    .where('name', '=', name)
    .where('owner', '=', owner)
    .where('epoch', '=', epoch)
