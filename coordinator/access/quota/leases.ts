import { faultOf } from '../../kernel/store/faults.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type Account, addLease, enterMonth } from './account.ts'
import type { Calendar } from './month.ts'
import { giveBack, latestMonth, readReserved, reserve } from './month-ledger.ts'

interface QuotaLeases {
  /** Reads what is reserved, and whether the ledger is in a later month than the clock. */
  look(account: Account): Promise<void>
  /**
   * Reserves a block for an account and at least `countWanted()` requests, as far as the limit allows;
   * false when nothing is left. Callers that come meanwhile share the answer.
   */
  fetch(account: Account, limit: number, countWanted: () => number): Promise<boolean>
  /**
   * Gives back what is not spent, in one transaction; keeps it when that fails, unless it is
   * unknown whether it has failed.
   */
  handBack(accounts: Account[]): Promise<void>
}

interface QuotaLeaseParts {
  ledger: Store['ledger']
  calendar: Calendar
  /** Number of processes that lease from the store. */
  countReplicas: () => number
}

export const createQuotaLeases = ({
  ledger,
  calendar,
  countReplicas,
}: QuotaLeaseParts): QuotaLeases => {
  const look = async (account: Account): Promise<void> => {
    const latest = await latestMonth(ledger.read)
    const month = calendar.advanceTo(latest ?? '').name
    enterMonth(account, month)
    const reserved = await readReserved(ledger.read, month, account.id)
    if (account.month === month) account.reserved = reserved
  }

  const fetch: QuotaLeases['fetch'] = async (account, limit, countWanted) => {
    await look(account)
    if ((account.reserved ?? 0) >= limit) return false
    const { id: subject, month } = account
    const lease = await ledger.free.write(trx =>
      reserve(trx, { month, subject, limit, waiting: countWanted(), replicas: countReplicas() }),
    )
    // Leave the block to the old month if that ended meanwhile.
    if (account.month !== month) return true
    account.lease += lease.granted
    account.leaseLimit = limit
    account.reserved = lease.reserved
    return lease.granted > 0
  }

  const handBack: QuotaLeases['handBack'] = async accounts => {
    const parts = accounts
      .filter(({ lease }) => lease > 0)
      // in one order, so that two processes do not wait for each other
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(account => ({ account, month: account.month, unspent: account.lease }))
    if (parts.length === 0) return
    for (const { account, unspent } of parts) addLease(account, -unspent)
    try {
      await ledger.free.write(async trx => {
        for (const { account, month, unspent } of parts)
          await giveBack(trx, month, account.id, unspent)
      })
    } catch (error) {
      // it may have been committed: what is given back twice would be spent twice
      if (faultOf(error) === 'uncertain') throw error
      for (const { account, month, unspent } of parts)
        if (account.month === month) addLease(account, unspent)
      throw error
    }
  }

  return { look, fetch, handBack }
}
