import { ShoalError } from '../../shared/errors.ts'
import type { Signer } from '../../shared/signing.ts'
import type { Approval } from '../../shared/wire/approval.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import type { Events } from '../events/bus.ts'
import type { Scope } from '../store/scope.ts'
import type { Store } from '../store/store.ts'
import { applyChange } from './apply.ts'
import type { Caller, Decision, NewRequest, Trx, Use } from './asking.ts'
import { type Attempt, refusalOf } from './audit-of.ts'
import { type DecidedRequest, readDecided } from './decided.ts'
import type { Gates as Definitions, GateDefinition } from './definition.ts'
import { followClock } from './follow-clock.ts'
import { passTime } from './high-water.ts'
import { isSame, openRequests, requested, requireFewToday, requireRoom, rowOf } from './new-row.ts'
import { planHash } from './plan-hash.ts'
import { type GateRequest, stateAt } from './request.ts'
import { countPending, type RequestFilter, readRequest, readRequests } from './rows.ts'
import { approve, type Change, reject, useFault, withdraw } from './rules.ts'
import { rulesFault } from './rules-fault.ts'
import { signedApproval } from './signed-approval.ts'
import { noteRefusal, rolesNow, useUp } from './use.ts'

/**
 * The gates: requests that are bound to one exact plan, decided by people, used once. Everything
 * is in the ledger, so several coordinators see the same.
 */
export interface GateKeeper {
  /** As they are now. */
  readonly definitions: Definitions
  /** Throws `not_found` for a gate that there is not. */
  definition(gateId: string): GateDefinition
  /** The same request again, while it waits, is the one that waits. */
  request(request: NewRequest, caller: Caller): Promise<GateRequest>
  get(id: string, scope: Scope): Promise<GateRequest>
  list(filter: RequestFilter, scope: Scope): Promise<GateRequest[]>
  /** The newest requests, newest first, with what a review looks at. */
  newest(limit: number, scope: Scope): Promise<DecidedRequest[]>
  /** How many requests wait, by gate. */
  pending(scope: Scope): Promise<Map<string, number>>
  /** Why a request that is open can never pass: its gate has other rules by now, or is gone. */
  rulesFault(request: GateRequest): string | undefined
  approve(id: string, caller: Caller, decision?: Decision): Promise<GateRequest>
  reject(id: string, caller: Caller, decision?: Decision): Promise<GateRequest>
  withdraw(id: string, caller: Caller): Promise<GateRequest>
  /**
   * Uses an approval up: exactly one of many callers at once gets it. Throws `forbidden` when the
   * approval does not cover this plan now.
   */
  consume(id: string, caller: Caller, use: Use): Promise<GateRequest>
  /** What a cell can check by itself. Throws `conflict` unless it is approved or was used. */
  approval(id: string, scope: Scope): Promise<Approval>
  /** Notes what has expired. */
  sweep(): Promise<void>
}

export interface GateParts {
  store: Pick<Store, 'ledger'>
  /** Looked up at each use: a policy that was approved may bring others. */
  readonly definitions: Definitions
  /** Throws when the definitions are not those that hold any more. */
  requireCurrent?: (trx: Trx) => Promise<void>
  signer: Signer
  publish: Events['publish']
  now: () => number
}

const EXPIRED: Change = { state: 'expired', reason: 'nobody decided or used it in time' }

export const createGates = (parts: GateParts): GateKeeper => {
  const { signer, publish, now } = parts
  const { ledger } = parts.store

  const known = (gateId: string): GateDefinition | undefined => {
    const { definitions } = parts
    return Object.hasOwn(definitions, gateId) ? definitions[gateId] : undefined
  }

  const definition = (gateId: string): GateDefinition => {
    const found = known(gateId)
    if (found === undefined) throw new ShoalError('not_found', `no gate ${gateId}`)
    return found
  }

  /** Before anything is decided: the clock goes forward, and the rules are those that hold. */
  const settle = async (trx: Trx): Promise<void> => {
    await passTime(trx, now())
    await parts.requireCurrent?.(trx)
  }

  const settleClock = async (): Promise<void> => {
    for (const [before, after] of await followClock(ledger, now())) tell(before, after)
  }

  const apply = (trx: Trx, request: GateRequest, change: Change, by: Actor) =>
    applyChange(trx, request, change, { ...by, at: now() })

  const change = async (
    id: string,
    attempt: Attempt,
    { tenantId, by, person }: Caller,
    decide: (request: GateRequest) => Change | undefined,
  ): Promise<GateRequest> => {
    await settleClock()
    const { before, after, refusal } = await ledger.sealed.write(async trx => {
      const before = await readRequest(trx, id, { tenantId })
      await settle(trx)
      const decided = changeOrRefusal(() => decide(before))
      if (!(decided instanceof ShoalError))
        return { before, after: decided ? await apply(trx, before, decided, by) : before }
      const entry = refusalOf(before, attempt, person, decided.message)
      await appendAudit(trx, { ...by, ...entry, at: now() })
      return { before, after: before, refusal: decided }
    })
    // thrown after the transaction, which has put the refusal on record
    if (refusal !== undefined) throw refusal
    tell(before, after)
    return after
  }

  const tell = (before: GateRequest | undefined, after: GateRequest): void => {
    if (before === after) return
    const event = before?.state === after.state ? 'voted' : after.state
    const { id, gateId, tenantId, summary, planHash } = after
    const data = { gate_id: gateId, tenant_id: tenantId, summary, plan_hash: planHash }
    publish(`shoal.gate.${before === undefined ? 'requested' : event}`, data, id)
  }

  const faultOfRules: GateKeeper['rulesFault'] = request => {
    const isOpen = ['pending', 'approved'].includes(stateAt(request, now()))
    return isOpen ? rulesFault(request, known(request.gateId)) : undefined
  }

  const requireSameRules = (request: GateRequest): void => {
    const fault = faultOfRules(request)
    if (fault !== undefined) throw new ShoalError('conflict', fault)
  }

  const request: GateKeeper['request'] = async (asked, caller) => {
    await settleClock()
    const row = rowOf(asked, caller, definition(asked.gateId), now())
    const { made, superseded } = await ledger.sealed.write(async trx => {
      await settle(trx)
      const open = await openRequests(trx, row, now())
      const same = open.find(one => isSame(one, row))
      if (same !== undefined) return { made: same, superseded: [] }
      await requireRoom(trx, row, now())
      await requireFewToday(trx, row, now())
      await trx.insertInto('gate_requests').values(row).execute()
      await appendAudit(trx, { ...caller.by, ...requested(row), at: now() })
      const over: Change = { state: 'superseded', reason: `superseded by ${row.id}` }
      const superseded: GateRequest[] = []
      for (const one of open) superseded.push(await apply(trx, one, over, caller.by))
      return { made: await readRequest(trx, row.id, 'all'), superseded }
    })
    for (const one of superseded) tell({ ...one, state: 'pending' }, one)
    if (made.id === row.id) tell(undefined, made)
    return made
  }

  const consume: GateKeeper['consume'] = async (id, caller, { plan, precondition, within }) => {
    await precondition?.()
    await settleClock()
    const used = planHash(plan)
    const outcome = await ledger.sealed.write(async trx => {
      await settle(trx)
      const found = await readRequest(trx, id, { tenantId: caller.tenantId })
      const fault =
        caller.person.personId === found.requesterId
          ? useFault(found, known(found.gateId), {
              planHash: used,
              rolesNow: await rolesNow(trx, found, now()),
              now: now(),
            })
          : 'only who asked can use it'
      if (fault !== undefined) return { found, fault }
      const after = await useUp(trx, found, caller.by, now())
      const approval = after && signedApproval(after, signer)
      if (approval !== undefined) await within?.(trx, approval)
      return { found, after }
    })
    if (outcome.after !== undefined) {
      tell(outcome.found, outcome.after)
      return outcome.after
    }
    const fault = outcome.fault ?? 'it was used before'
    throw await noteRefusal(ledger, outcome.found, fault, caller.by, now())
  }

  const approval: GateKeeper['approval'] = async (id, scope) => {
    await settleClock()
    const found = await readRequest(ledger.read, id, scope)
    const state = stateAt(found, now())
    const signed = signedApproval(found, signer)
    if ((state !== 'approved' && state !== 'consumed') || signed === undefined)
      throw new ShoalError('conflict', `request ${id} is ${state}`)
    requireSameRules(found)
    return signed
  }

  const sweep: GateKeeper['sweep'] = async () => {
    await settleClock()
    const at = now()
    const due = await ledger.read
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
    for (const { id } of due) await expire(id)
  }

  const expire = async (id: string): Promise<void> => {
    const [before, after] = await ledger.sealed.write(async trx => {
      const found = await readRequest(trx, id, 'all')
      const isDue = found.state !== 'expired' && stateAt(found, now()) === 'expired'
      return [found, isDue ? await apply(trx, found, EXPIRED, { actor: 'coordinator' }) : found]
    })
    tell(before, after)
  }

  const approveAt: GateKeeper['approve'] = (id, caller, { reason = '' } = {}) =>
    change(id, 'approve', caller, found => {
      requireSameRules(found)
      const rules = definition(found.gateId)
      return approve(found, rules, caller.person, { now: now(), reason })
    })

  const rejectAt: GateKeeper['reject'] = (id, caller, { reason = '' } = {}) =>
    change(id, 'reject', caller, found =>
      reject(found, known(found.gateId), caller.person, { now: now(), reason }),
    )

  return {
    get definitions() {
      return parts.definitions
    },
    definition,
    request,
    get: (id, scope) => readRequest(ledger.read, id, scope),
    list: (filter, scope) => readRequests(ledger.read, filter, scope),
    newest: (limit, scope) => readDecided(ledger.read, limit, scope),
    pending: scope => countPending(ledger.read, scope, now()),
    rulesFault: faultOfRules,
    approve: approveAt,
    reject: rejectAt,
    withdraw: (id, caller) =>
      change(id, 'withdrawn', caller, found => withdraw(found, caller.person, now())),
    consume,
    approval,
    sweep,
  }
}

const changeOrRefusal = (decide: () => Change | undefined): Change | ShoalError | undefined => {
  try {
    return decide()
  } catch (error) {
    if (error instanceof ShoalError) return error
    throw error
  }
}
