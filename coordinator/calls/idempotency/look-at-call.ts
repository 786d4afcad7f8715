import type { Transaction } from 'kysely'
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
  const holder = holderOf(claim)
  const isLive =
    holder === replicas.id || holder === undefined || (await isReplicaLive(trx, holder, ledger))
  return isLive && lease_until > now()
}

const isReplicaLive = async (
  trx: Trx,
  id: string,
  { nowMs }: Pick<Ledger, 'nowMs'>,
): Promise<boolean> => {
  const now = await nowMs(trx)
  const found = await trx
    .selectFrom('replicas')
    .select('id')
    .where('id', '=', id)
    .where('until', '>', now)
    .executeTakeFirst()
  return found !== undefined
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
