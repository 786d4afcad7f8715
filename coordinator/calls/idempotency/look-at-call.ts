import type { Transaction } from 'kysely'
import { selectLiveReplica } from '../../kernel/replicas/live-rows.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { IdempotentCallRow } from './idempotent-call.table.ts'

type Trx = Transaction<LedgerTables>

interface NamedCall {
  scope: string
  callKey: string
}

/**
 * State of a stored call. `running`: its coordinator is live and may still be working on it. Without
 * an answer, a `changed` call has changed something in the ledger, and a `begun` one has not.
 */
export type CallKeeping = 'none' | 'running' | 'begun' | 'changed' | 'answered'

interface LookParts {
  ledger: Ledger
  replicas: Pick<Replicas, 'id'>
  now: () => number
}

/** Returns the state of a stored call without making the call. */
export const lookAtCall = (
  { ledger, replicas, now }: LookParts,
  call: NamedCall,
): Promise<CallKeeping> =>
  ledger.free.write(async trx => {
    const known = await findCall(trx, call)
    if (known === undefined) return 'none'
    if (known.answer_sealed !== null) return 'answered'
    if (await isRunning(trx, known, { ledger, replicas, now })) return 'running'
    return known.state === 'changed' ? 'changed' : 'begun'
  })

/** True while the coordinator that claimed a call is live and may still be working on it. */
export const isRunning = async (
  trx: Trx,
  { claim, lease_until }: Pick<IdempotentCallRow, 'claim' | 'lease_until'>,
  { ledger, replicas, now }: LookParts,
): Promise<boolean> => {
  if (lease_until <= now()) return false
  const holder = holderOf(claim)
  if (holder === undefined || holder === replicas.id) return true
  const live = selectLiveReplica(trx, holder, await ledger.nowMs(trx))
  return (await live.executeTakeFirst()) !== undefined
}

export const findCall = (
  trx: Trx,
  { scope, callKey }: NamedCall,
): Promise<IdempotentCallRow | undefined> =>
  trx
    .selectFrom('idempotent_calls')
    .selectAll()
    .where('scope', '=', scope)
    .where('call_key', '=', callKey)
    .executeTakeFirst()

/** Id of the coordinator that claimed a call; undefined for one of an older version. */
export const holderOf = (claim: string): string | undefined => /^(.+)\//.exec(claim)?.[1]
