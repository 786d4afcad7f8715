import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { timeOfId } from '../../../shared/ids.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { selectLiveReplica } from '../../kernel/replicas/live-rows.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { SecretSealer } from '../../kernel/signing/sealing.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { asCall, type MarkedCall, whereClaimed } from './call-marks.ts'
import { type IdempotentCallRow, idempotentCallTable } from './idempotent-call.table.ts'
import { answerText, parseAnswer, refusalText } from './kept-answer.ts'
import { type CallKeeping, findCall, holderOf, isRunning, lookAtCall } from './look-at-call.ts'

/** A call that its caller may repeat. */
interface RepeatableCall {
  /** Owner of the key: two callers may use the same text. */
  scope: string
  callKey: string
  /** Digest of the whole call. */
  fingerprint: string
  /** Longest duration of the call, seconds. */
  timeoutSeconds: number
}

/** Functions that run a call and decide whether its answer is kept. */
interface RepeatableRun {
  run: () => Promise<unknown>
  /** False for an answer that is not stored, after which the call may run again. */
  isKept: (answer: unknown) => boolean
  /**
   * Answer of a call whose coordinator died before it could answer, from the ids of what the call
   * has created; undefined where these tell no answer.
   */
  recall?: ((created: readonly string[]) => Promise<unknown>) | undefined
}

/** Record of the first call with a key: its encrypted answer, or only the ids that it created. */
type Remains = { sealed: string } | { created: readonly string[] }

interface IdempotencyParts {
  ledger: Ledger
  replicas: Pick<Replicas, 'id'>
  runtime: Pick<Runtime, 'ids'>
  /** Answers may hold secrets that are shown once. */
  sealing: SecretSealer
  /** Unix time, milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

const KEPT_MS = 24 * 3600 * 1000
/** Time for work that goes on after the call timed out. */
const GRACE_MS = 90_000
const DELETE_EVERY_MS = 600_000

type Trx = Transaction<LedgerTables>

/** Calls with an Idempotency-Key: each runs once in 24 hours. */
export class Idempotency {
  readonly #parts: IdempotencyParts
  /** Unix time of the last deletion of old calls. */
  #deletedAt = Number.NEGATIVE_INFINITY

  constructor(parts: IdempotencyParts) {
    this.#parts = parts
  }

  /**
   * Runs a call once in 24 hours; a repetition gets the first answer, or the one that `recall` makes
   * of an interrupted call. An answer that `isKept` rejects is not stored, nor is a refusal that
   * changed nothing: such a call may run again. Throws `idempotency_key_reuse` for another call with
   * the same key, and `conflict` while the first is in progress or when its answer was lost.
   */
  async once(
    wanted: RepeatableCall,
    { run, isKept, recall }: RepeatableRun,
  ): Promise<{ answer: unknown; replayed: boolean }> {
    const { replicas, runtime } = this.#parts
    const name = `${replicas.id}/${runtime.ids.uuid()}`
    const remains = await this.#claim(wanted, name)
    if (remains !== undefined)
      return { answer: await this.#readRemains(wanted, remains, recall), replayed: true }
    const { scope, callKey } = wanted
    const call: MarkedCall = {
      scope,
      callKey,
      claim: name,
      changed: false,
      over: false,
    }
    return { answer: await this.#answer(call, run, isKept), replayed: false }
  }

  /** Looks up the stored outcome of a call, without making the call. */
  look(call: Pick<RepeatableCall, 'scope' | 'callKey'>): Promise<CallKeeping> {
    return lookAtCall(this.#parts, call)
  }

  async #readRemains(
    call: RepeatableCall,
    remains: Remains,
    recall: RepeatableRun['recall'],
  ): Promise<unknown> {
    if ('sealed' in remains)
      return parseAnswer(this.#parts.sealing.open(remains.sealed, contextOf(call)))
    const { created } = remains
    const answer = created.length === 0 ? undefined : await recall?.(created)
    if (answer === undefined) throw createLostAnswerError()
    return answer
  }

  /** Record of the first call; undefined when this call is the first. */
  #claim(call: RepeatableCall, name: string): Promise<Remains | undefined> {
    const { ledger, now } = this.#parts
    const claimed = ledger.free.write(async trx => {
      const row = rowOf(call, name, now())
      if (await begin(trx, row)) return undefined
      const known = await findCall(trx, call)
      if (known === undefined) throw createInProgressError()
      if (known.fingerprint !== call.fingerprint) throw createReuseError()
      if (known.answer_sealed !== null) return { sealed: known.answer_sealed }
      if (await this.#takeOver(trx, row, known.claim)) return undefined
      if (known.state === 'changed') {
        const created = readCreated(known)
        // what was created tells the outcome at once; else the coordinator may come back and answer
        const isOver = known.lease_until <= now()
        if (isOver || (created.length > 0 && !(await isRunning(trx, known, this.#parts))))
          return { created }
      }
      throw createInProgressError()
    })
    this.#deleteOld()
    return claimed
  }

  /** Takes over the claim of a coordinator that died before the call changed anything. */
  async #takeOver(trx: Trx, row: IdempotentCallRow, claim: string): Promise<boolean> {
    const { ledger, replicas } = this.#parts
    const holder = holderOf(claim)
    if (holder === undefined || holder === replicas.id) return false
    const now = await ledger.nowMs(trx)
    const { numUpdatedRows } = await whereClaimed(trx.updateTable('idempotent_calls').set(row), {
      scope: row.scope,
      callKey: row.call_key,
      claim,
    })
      .where('state', '=', 'begun')
      .where(({ not, exists }) => not(exists(selectLiveReplica(trx, holder, now))))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  #deleteOld(): void {
    const { ledger, logger, now } = this.#parts
    if (now() - this.#deletedAt < DELETE_EVERY_MS) return
    this.#deletedAt = now()
    const before = now() - KEPT_MS
    ledger.free
      .write(trx => trx.deleteFrom('idempotent_calls').where('created_at', '<=', before).execute())
      .catch(error => logger.warn({ err: error }, 'old calls were not deleted'))
  }

  async #answer(
    call: MarkedCall,
    run: () => Promise<unknown>,
    isKept: (answer: unknown) => boolean,
  ): Promise<unknown> {
    try {
      const answer = await asCall(call, run)
      if (isKept(answer)) await this.#settle(call, answerText(answer))
      // the same call finds its changes again
      else await this.#end(call, trx => deleteClaimed(trx, call).execute())
      return answer
    } catch (error) {
      await this.#settle(call, call.changed ? refusalText(error) : undefined)
      throw error
    }
  }

  /**
   * Stores the answer. Without one, the call may run again unless it is marked as changed: also by a
   * commit of which this process does not know.
   */
  #settle(call: MarkedCall, kept: string | undefined): Promise<void> {
    const { sealing, now } = this.#parts
    const values =
      kept === undefined
        ? { lease_until: now() }
        : { state: 'answered', answer_sealed: sealing.seal(kept, contextOf(call)) }
    return this.#end(call, async trx => {
      if (kept === undefined) await deleteClaimed(trx, call).where('state', '=', 'begun').execute()
      await whereClaimed(trx.updateTable('idempotent_calls').set(values), call).execute()
    })
  }

  /** An answer that cannot be stored is returned all the same; a repetition is then refused. */
  async #end(call: MarkedCall, store: (trx: Trx) => Promise<unknown>): Promise<void> {
    const { ledger, logger } = this.#parts
    call.over = true
    await ledger.free
      .write(store)
      .catch(error => logger.warn({ err: error }, 'the answer of a call was not kept'))
  }
}

/**
 * Ids that this call has created. A coordinator before 0.1.0 that claims an expired key leaves
 * those of the previous call in the row.
 */
const readCreated = ({ created_json, created_at }: IdempotentCallRow): readonly string[] => {
  const ids = idempotentCallTable.readSome({ created_json }).created ?? []
  return ids.filter(id => timeOfId(id) >= created_at)
}

const rowOf = (call: RepeatableCall, name: string, now: number): IdempotentCallRow => ({
  scope: call.scope,
  call_key: call.callKey,
  fingerprint: call.fingerprint,
  claim: name,
  state: 'begun',
  answer_sealed: null,
  created_json: null,
  lease_until: now + call.timeoutSeconds * 1000 + GRACE_MS,
  created_at: now,
})

/**
 * Claims the key in one statement, so that only one of several processes succeeds: a key that is
 * new, expired, or whose call ended without a change and without an answer.
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

const deleteClaimed = (trx: Trx, call: MarkedCall) =>
  whereClaimed(trx.deleteFrom('idempotent_calls'), call)

const contextOf = ({ scope, callKey }: Pick<RepeatableCall, 'scope' | 'callKey'>): string =>
  JSON.stringify(['idempotent call', scope, callKey])

const createReuseError = () =>
  new ShoalError(
    'idempotency_key_reuse',
    'this Idempotency-Key was used with a different request',
    {
      param: 'Idempotency-Key',
    },
  )
const createInProgressError = () =>
  new ShoalError('conflict', 'the first call with this Idempotency-Key is being answered', {
    param: 'Idempotency-Key',
    retryAfterSeconds: 1,
  })
const createLostAnswerError = () =>
  new ShoalError(
    'conflict',
    'the first call with this Idempotency-Key made a change and its answer was lost; check the current state',
    { param: 'Idempotency-Key' },
  )
