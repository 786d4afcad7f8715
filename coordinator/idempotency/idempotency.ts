import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import * as z from 'zod'
import { errorCodes, httpStatus, ShoalError } from '../../shared/errors.ts'
import type { Sealing } from '../signing/sealing.ts'
import type { IdempotentCallRow } from '../store/delivery-tables.ts'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { asCall, type MarkedCall } from './call-marks.ts'

/** A call that its caller may repeat. */
export interface RepeatableCall {
  /** Whose key it is: two callers may use the same text. */
  scope: string
  callKey: string
  /** Digest of all that was asked. */
  fingerprint: string
  /** Longest time the call may take. */
  timeoutSeconds: number
}

export interface Idempotency {
  /**
   * Runs a call once in 24 hours: a repetition gets the answer of the first. An answer that
   * `isKept` does not want is not kept, nor is a refusal that changed nothing: the call may be made
   * again. Throws `idempotency_key_reuse` for another question with the same key, `conflict` while
   * the first is being answered, or when its answer was lost.
   */
  once(
    call: RepeatableCall,
    run: () => Promise<unknown>,
    isKept: (answer: unknown) => boolean,
  ): Promise<{ answer: unknown; replayed: boolean }>
}

export interface IdempotencyParts {
  ledger: Ledger
  /** Answers may hold secrets that are shown once. */
  sealing: Sealing
  /** Unix time, milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

const KEPT_MS = 24 * 3600 * 1000
/** For what goes on after the time of a call is up. */
const GRACE_MS = 90_000
const FORGET_EVERY_MS = 600_000
/** A larger answer is not kept. */
const MAX_ANSWER_BYTES = 256 * 1024

const Kept = z.union([
  z.object({ answer: z.unknown() }),
  z.object({
    error: z.object({
      code: z.enum(errorCodes),
      message: z.string(),
      param: z.string().exactOptional(),
    }),
  }),
])

type Trx = Transaction<LedgerTables>

export const createIdempotency = (parts: IdempotencyParts): Idempotency => {
  const { ledger, sealing, now, logger } = parts
  let forgotAt = Number.NEGATIVE_INFINITY

  const forgetOld = (): void => {
    if (now() - forgotAt < FORGET_EVERY_MS) return
    forgotAt = now()
    const before = now() - KEPT_MS
    ledger.free
      .write(trx => trx.deleteFrom('idempotent_calls').where('created_at', '<=', before).execute())
      .catch(error => logger.warn({ err: error }, 'old calls were not forgotten'))
  }

  /** The answer of the first call, or undefined when this one is the first. */
  const claim = (call: RepeatableCall, name: string): Promise<string | undefined> => {
    const claimed = ledger.free.write(async trx => {
      if (await begin(trx, rowOf(call, name))) return undefined
      const known = await find(trx, call)
      if (known === undefined) throw underWay()
      if (known.fingerprint !== call.fingerprint) throw reused()
      if (known.answer_sealed !== null) return known.answer_sealed
      throw known.state === 'changed' && known.lease_until <= now() ? lost() : underWay()
    })
    forgetOld()
    return claimed
  }

  const rowOf = (call: RepeatableCall, name: string): IdempotentCallRow => ({
    scope: call.scope,
    call_key: call.callKey,
    fingerprint: call.fingerprint,
    claim: name,
    state: 'begun',
    answer_sealed: null,
    lease_until: now() + call.timeoutSeconds * 1000 + GRACE_MS,
    created_at: now(),
  })

  /** What cannot be kept is told all the same: a repetition is refused, not done twice. */
  const settle = async (call: MarkedCall, kept: string | undefined): Promise<void> => {
    call.over = true
    const values =
      kept === undefined
        ? { lease_until: now() }
        : { state: 'answered', answer_sealed: sealing.seal(kept, contextOf(call)) }
    await ledger.free
      .write(async trx => {
        if (kept === undefined && !call.changed)
          await mine(trx.deleteFrom('idempotent_calls'), call).execute()
        else await mine(trx.updateTable('idempotent_calls').set(values), call).execute()
      })
      .catch(error => logger.warn({ err: error }, 'the answer of a call was not kept'))
  }

  const answered = async (
    call: MarkedCall,
    run: () => Promise<unknown>,
    isKept: (answer: unknown) => boolean,
  ): Promise<unknown> => {
    try {
      const answer = await asCall(call, run)
      if (isKept(answer)) await settle(call, textOf({ answer }))
      else {
        // what it changed is there to be found again by the same call
        call.changed = false
        await settle(call, undefined)
      }
      return answer
    } catch (error) {
      await settle(call, call.changed ? refusalOf(error) : undefined)
      throw error
    }
  }

  const once: Idempotency['once'] = async (asked, run, isKept) => {
    const name = randomUUID()
    const sealed = await claim(asked, name)
    if (sealed !== undefined)
      return { answer: opened(sealing.open(sealed, contextOf(asked))), replayed: true }
    const { scope, callKey } = asked
    const call: MarkedCall = { scope, callKey, claim: name, changed: false, over: false }
    return { answer: await answered(call, run, isKept), replayed: false }
  }

  return { once }
}

/**
 * Claims the key by one statement, of several processes for one: a key that is new, too old to
 * count, or whose call has ended without a change and without an answer.
 */
const begin = async (trx: Trx, row: IdempotentCallRow): Promise<boolean> => {
  const claimed = await trx
    .insertInto('idempotent_calls')
    .values(row)
    .onConflict(conflict =>
      conflict
        .columns(['scope', 'call_key'])
        .doUpdateSet(row)
        .where(({ eb, and, or }) =>
          or([
            eb('idempotent_calls.created_at', '<=', row.created_at - KEPT_MS),
            and([
              eb('idempotent_calls.fingerprint', '=', row.fingerprint),
              eb('idempotent_calls.answer_sealed', 'is', null),
              eb('idempotent_calls.lease_until', '<=', row.created_at),
              eb('idempotent_calls.state', '!=', 'changed'),
            ]),
          ]),
        ),
    )
    .returning('claim')
    .executeTakeFirst()
  return claimed !== undefined
}

const find = (
  trx: Trx,
  { scope, callKey }: RepeatableCall,
): Promise<IdempotentCallRow | undefined> =>
  trx
    .selectFrom('idempotent_calls')
    .selectAll()
    .where('scope', '=', scope)
    .where('call_key', '=', callKey)
    .executeTakeFirst()

interface Narrowable<Q> {
  where(column: 'scope' | 'call_key' | 'claim', operator: '=', value: string): Q
}

const mine = <Q extends Narrowable<Q>>(query: Q, { scope, callKey, claim }: MarkedCall): Q =>
  query.where('scope', '=', scope).where('call_key', '=', callKey).where('claim', '=', claim)

const contextOf = ({ scope, callKey }: Pick<RepeatableCall, 'scope' | 'callKey'>): string =>
  JSON.stringify(['idempotent call', scope, callKey])

const textOf = (kept: z.input<typeof Kept>): string | undefined => {
  const text = JSON.stringify(kept)
  return Buffer.byteLength(text) > MAX_ANSWER_BYTES ? undefined : text
}

/** A refusal is an answer; a failure is none, and what it changed has to be looked at. */
const refusalOf = (error: unknown): string | undefined => {
  if (!(error instanceof ShoalError) || httpStatus(error.code) >= 500) return undefined
  const { code, message, param } = error
  return textOf({ error: { code, message, ...(param === undefined ? {} : { param }) } })
}

const opened = (text: string): unknown => {
  const kept = Kept.parse(JSON.parse(text))
  if (!('error' in kept)) return kept.answer
  const { code, message, param } = kept.error
  throw new ShoalError(code, message, param === undefined ? {} : { param })
}

const reused = () =>
  new ShoalError('idempotency_key_reuse', 'this Idempotency-Key came with another question', {
    param: 'Idempotency-Key',
  })
const underWay = () =>
  new ShoalError('conflict', 'the first call with this Idempotency-Key is being answered', {
    param: 'Idempotency-Key',
    retryAfterSeconds: 1,
  })
const lost = () =>
  new ShoalError(
    'conflict',
    'the first call with this Idempotency-Key changed something and its answer was lost: look at what is there',
    { param: 'Idempotency-Key' },
  )
