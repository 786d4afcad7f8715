import type { Transaction } from 'kysely'
import type { ChangeHook } from './change-hook.ts'
import type { LedgerTables } from './tables.ts'

const callbacks = new WeakMap<Transaction<LedgerTables>, (() => void)[]>()

/** Calls back once the work that has this transaction is committed; never after a rollback. */
export const afterCommit = (trx: Transaction<LedgerTables>, callback: () => void): void => {
  const others = callbacks.get(trx)
  if (others === undefined) callbacks.set(trx, [callback])
  else others.push(callback)
}

/** The hook of the ledger that runs what `afterCommit` was given. */
export const runAfterCommit: ChangeHook<LedgerTables> = async (work, commit) => {
  let due: readonly (() => void)[] = []
  const result = await commit(async trx => {
    const done = await work(trx)
    due = callbacks.get(trx) ?? []
    return done
  })
  for (const callback of due) callback()
  return result
}
