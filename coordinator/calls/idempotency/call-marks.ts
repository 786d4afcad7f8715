import { AsyncLocalStorage } from 'node:async_hooks'
import { ShoalError } from '../../../shared/errors.ts'
import type { ChangeHook } from '../../kernel/store/change-hook.ts'
import { listCreated } from '../../kernel/store/created-in.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'

/** A call with an Idempotency-Key that is being answered. */
export interface MarkedCall {
  scope: string
  callKey: string
  claim: string
  /** Something is on the disk because of it. */
  changed: boolean
  /** Ids of what it has created. */
  created: readonly string[]
  over: boolean
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
 * something, and the ids that it has created: after a crash it is known which calls may be made
 * again. A call whose claim a repetition has taken over changes nothing any more, so that nothing is
 * done twice.
 */
export const markChange: ChangeHook<LedgerTables> = async (work, commit) => {
  const call = current.getStore()
  if (call === undefined || call.over) return commit(work)
  let created = call.created
  const result = await commit(async trx => {
    const done = await work(trx)
    created = [...call.created, ...listCreated(trx)]
    if (call.changed && created.length === call.created.length) return done
    const { numUpdatedRows } = await trx
      .updateTable('idempotent_calls')
      .set({
        state: 'changed',
        ...(created.length > 0 && { created_json: JSON.stringify(created) }),
      })
      .where('scope', '=', call.scope)
      .where('call_key', '=', call.callKey)
      .where('claim', '=', call.claim)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw claimLost()
    return done
  })
  call.changed = true
  call.created = created
  return result
}
