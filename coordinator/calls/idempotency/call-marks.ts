import { AsyncLocalStorage } from 'node:async_hooks'
import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { ChangeHook } from '../../kernel/store/change-hook.ts'
import { listCreated } from '../../kernel/store/created-in.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { idempotentCallTable } from './idempotent-call.table.ts'

/** A call with an Idempotency-Key that is being answered. */
export interface MarkedCall {
  scope: string
  callKey: string
  claim: string
  /** True once the call has changed something in the ledger. */
  changed: boolean
  over: boolean
}

interface Narrowable<Q> {
  where(column: 'scope' | 'call_key' | 'claim', operator: '=', value: string): Q
}

const current = new AsyncLocalStorage<MarkedCall>()

/** Runs a function so that all its writes to the ledger are attributed to the call. */
export const asCall = <T>(call: MarkedCall, run: () => Promise<T>): Promise<T> =>
  current.run(call, run)

/** The call outlived its lease, and a repetition carries it out now. */
const claimLost = (): ShoalError =>
  new ShoalError('conflict', 'this call took too long, and its repetition has taken its place')

/**
 * Lets the first change within a call note in its own transaction that the call has changed
 * something, and each change what it has created: after a crash it is known which calls may be made
 * again. A call whose claim a repetition has taken over changes nothing any more, so that nothing is
 * done twice.
 */
export const markChange: ChangeHook<LedgerTables> = async (work, commit) => {
  const call = current.getStore()
  if (call === undefined || call.over) return commit(work)
  const result = await commit(async trx => {
    const done = await work(trx)
    const created = listCreated(trx)
    if (!call.changed || created.length > 0) await mark(trx, call, created)
    return done
  })
  call.changed = true
  return result
}

/** Query of the row of a call, while no repetition has taken over its claim. */
export const whereClaimed = <Q extends Narrowable<Q>>(
  query: Q,
  { scope, callKey, claim }: Pick<MarkedCall, 'scope' | 'callKey' | 'claim'>,
): Q => query.where('scope', '=', scope).where('call_key', '=', callKey).where('claim', '=', claim)

/** Writes of one call may share a transaction: what each has created is added to the row. */
const mark = async (
  trx: Transaction<LedgerTables>,
  call: MarkedCall,
  created: readonly string[],
): Promise<void> => {
  const update = whereClaimed(trx.updateTable('idempotent_calls'), call)
  const row = await update.set({ state: 'changed' }).returning('created_json').executeTakeFirst()
  if (row === undefined) throw claimLost()
  if (created.length === 0) return
  const all = [...(idempotentCallTable.readSome(row).created ?? []), ...created]
  await update.set(idempotentCallTable.writeSome({ created: all })).execute()
}
