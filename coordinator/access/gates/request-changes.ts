import { ShoalError } from '../../../shared/errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import { applyChange } from './apply.ts'
import type { Trx } from './asking.ts'
import { type GateAttempt, refusalAuditOf } from './audit-of.ts'
import { followClock } from './follow-clock.ts'
import { passTime } from './high-water.ts'
import { stateAt } from './request.ts'
import { readEnding, readRequest } from './rows.ts'
import type { RequestChange, RequestEnd } from './rules.ts'

export interface ChangeParts {
  store: Pick<Store, 'ledger'>
  /** Throws when the definitions are no longer those in force. */
  requireCurrent?: (trx: Trx) => Promise<void>
  addEvents: Events['addWithin']
  /** Unix time, milliseconds. */
  now: () => number
}

const EXPIRED: RequestEnd = { state: 'expired', reason: 'it was not decided or used in time' }

/** Writes the changes of requests, each with its audit row and its event. */
export class RequestChanges {
  readonly #parts: ChangeParts

  constructor(parts: ChangeParts) {
    this.#parts = parts
  }

  /** Precedes every decision: time never goes back, and the rules are those in force. */
  async settle(trx: Trx): Promise<void> {
    const { store, now } = this.#parts
    await passTime(trx, store.ledger, now())
    await this.#parts.requireCurrent?.(trx)
  }

  async followClock(ledger: Ledger = this.#parts.store.ledger): Promise<void> {
    await followClock(ledger, this.#parts.now(), (trx, id, change, by) =>
      this.end(trx, id, change, by),
    )
  }

  /** Ends a request without an approval, even one that cannot be read: others must not wait for it. */
  async end(trx: Trx, id: string, change: RequestEnd, by: Actor): Promise<void> {
    const before = await readEnding(trx, id)
    const entry = { ...by, at: this.#parts.now() }
    await this.report(trx, before, await applyChange(trx, before, change, entry, readEnding))
  }

  async apply(
    trx: Trx,
    request: GateRequest,
    change: RequestChange,
    by: Actor,
  ): Promise<GateRequest> {
    const after = await applyChange(trx, request, change, { ...by, at: this.#parts.now() })
    await this.report(trx, request, after)
    return after
  }

  /** Adds the event of a change to its transaction. `before` is undefined for a new request. */
  report(trx: Trx, before: GateRequest | undefined, after: GateRequest): Promise<void> {
    const event = before?.state === after.state ? 'voted' : after.state
    const { id, gateId, tenantId, summary, planHash } = after
    const data = { gate_id: gateId, tenant_id: tenantId, summary, plan_hash: planHash }
    const type = before === undefined ? 'requested' : event
    return this.#parts.addEvents(trx, [{ type: `shoal.gate.${type}`, data, subject: id }])
  }

  /** Applies what `decide` returns. A refusal that it throws is audited before it is thrown. */
  async decide(
    id: string,
    attempt: GateAttempt,
    { tenantId, by, person }: Caller,
    decide: (request: GateRequest) => RequestChange | undefined,
  ): Promise<GateRequest> {
    await this.followClock()
    const { store, now } = this.#parts
    const { after, refusal } = await store.ledger.sealed.write(async trx => {
      const before = await readRequest(trx, id, { tenantId })
      await this.settle(trx)
      const decided = changeOrRefusal(() => decide(before))
      if (!(decided instanceof ShoalError))
        return { after: decided ? await this.apply(trx, before, decided, by) : before }
      const entry = refusalAuditOf(before, attempt, person, decided.message)
      await appendAudit(trx, { ...by, ...entry, at: now() })
      return { after: before, refusal: decided }
    })
    // thrown after the transaction, which has audited the refusal
    if (refusal !== undefined) throw refusal
    return after
  }

  /** Marks overdue requests as expired, at most 100 per call. */
  async expireOverdue(ledger: Ledger): Promise<void> {
    await this.followClock(ledger)
    const at = this.#parts.now()
    const overdue = await ledger.read
      .selectFrom('gate_requests')
      .select('id')
      .where(({ and, eb, or }) =>
        or([
          and([eb('state', '=', 'pending'), eb('expires_at', '<=', at)]),
          and([eb('state', '=', 'approved'), eb('approval_expires_at', '<=', at)]),
        ]),
      )
      .limit(100)
      .execute()
    for (const { id } of overdue) await this.#expire(ledger, id)
  }

  async #expire(ledger: Ledger, id: string): Promise<void> {
    await ledger.sealed.write(async trx => {
      const found = await readEnding(trx, id)
      const now = await ledger.nowMs(trx)
      const isOverdue = found.state !== 'expired' && stateAt(found, now) === 'expired'
      if (isOverdue) await this.end(trx, id, EXPIRED, { actor: 'coordinator' })
    })
  }
}

const changeOrRefusal = (
  decide: () => RequestChange | undefined,
): RequestChange | ShoalError | undefined => {
  try {
    return decide()
  } catch (error) {
    if (error instanceof ShoalError) return error
    throw error
  }
}
