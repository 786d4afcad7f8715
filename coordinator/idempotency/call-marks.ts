import { AsyncLocalStorage } from 'node:async_hooks'
import type { Store } from '../store/store.ts'

/** A call with an Idempotency-Key that is being answered. */
export interface MarkedCall {
  scope: string
  callKey: string
  claim: string
  /** Something is on the disk because of it. */
  changed: boolean
  over: boolean
}

const current = new AsyncLocalStorage<MarkedCall>()

/** Whatever is written to the ledger from within belongs to this call. */
export const asCall = <T>(call: MarkedCall, run: () => Promise<T>): Promise<T> =>
  current.run(call, run)

/**
 * The same store, whose first change within a call notes in its own transaction that the call has
 * changed something: after a crash it is known which calls may be made again.
 */
export const markingChanges = (store: Store): Store => {
  const { ledger } = store
  const write: typeof ledger.write = async work => {
    const call = current.getStore()
    if (call === undefined || call.changed || call.over) return ledger.write(work)
    const result = await ledger.write(async trx => {
      const done = await work(trx)
      await trx
        .updateTable('idempotent_calls')
        .set({ state: 'changed' })
        .where('scope', '=', call.scope)
        .where('call_key', '=', call.callKey)
        .where('claim', '=', call.claim)
        .where('state', '=', 'begun')
        .execute()
      return done
    })
    call.changed = true
    return result
  }
  return { ...store, ledger: { ...ledger, write } }
}
