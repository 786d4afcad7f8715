import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Signer } from '../../../shared/signing.ts'
import type { Approval } from '../../../shared/wire/approval.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { Scope } from '../../kernel/store/scope.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { DecisionOptions, NewRequest, Trx, Use } from './asking.ts'
import { type DecidedRequests, readDecided } from './decided.ts'
import type { Gates as Definitions, GateDefinition } from './definition.ts'
import { gateRequestTable } from './gate-request.table.ts'
import {
  createRequest,
  findOpenRequests,
  isSame,
  requireFewToday,
  requireRoom,
  toRequestAudit,
} from './new-request.ts'
import { planHash } from './plan-hash.ts'
import { stateAt } from './request.ts'
import { type ChangeParts, RequestChanges } from './request-changes.ts'
import {
  countPending,
  type RequestFilter,
  readRequest,
  readRequestIds,
  readRequests,
} from './rows.ts'
import {
  approveRequest,
  type RequestEnd,
  rejectRequest,
  type UseFault,
  useFault,
  withdrawRequest,
} from './rules.ts'
import { rulesFault } from './rules-fault.ts'
import { createSignedApproval } from './signed-approval.ts'
import { auditRefusal, rolesNow, useUp } from './use.ts'

interface GateKeeperParts extends ChangeParts {
  runtime: Pick<Runtime, 'ids'>
  logger: Pick<Logger, 'warn'>
  /** Definitions in force, read at each use because an approved policy may replace them. */
  readonly definitions: Definitions
  signer: Signer
}

const USED_BEFORE: UseFault = { message: 'it was used before', reason: 'approval_used' }

/**
 * Gates: requests bound to one exact plan, decided by people, used once. All state is in the
 * ledger, so several coordinators share it.
 */
export class GateKeeper {
  readonly #parts: GateKeeperParts
  readonly #changes: RequestChanges

  constructor(parts: GateKeeperParts) {
    this.#parts = parts
    this.#changes = new RequestChanges(parts)
  }

  /** The definitions in force. */
  get definitions(): Definitions {
    return this.#parts.definitions
  }

  /** Throws `not_found` for an unknown gate. */
  definition(gateId: string): GateDefinition {
    const found = this.#find(gateId)
    if (found === undefined) throw createUnknownError('gate', gateId)
    return found
  }

  /** Returns the pending request when the same one is requested again. */
  async request(wanted: NewRequest, caller: Caller): Promise<GateRequest> {
    await this.#changes.followClock()
    const { store, now, runtime, logger } = this.#parts
    const at = now()
    const made = { now: at, id: runtime.ids.create('gate', at) }
    const wish = createRequest(wanted, caller, this.definition(wanted.gateId), made)
    return store.ledger.sealed.write(async trx => {
      await this.#changes.settle(trx)
      const open = await findOpenRequests(trx, wish, { now: now(), logger })
      const same = open.requests.find(one => isSame(one, wish))
      if (same !== undefined) return same
      await requireRoom(trx, wish, now())
      await requireFewToday(trx, wish, now())
      await trx.insertInto('gate_requests').values(gateRequestTable.write(wish)).execute()
      await appendAudit(trx, { ...caller.by, ...toRequestAudit(wish), at: now() })
      const superseded = [...open.requests.map(one => one.id), ...open.unreadable]
      await this.#supersede(trx, superseded, wish.id, caller)
      const request = await readRequest(trx, wish.id, 'all')
      await this.#changes.report(trx, undefined, request)
      return request
    })
  }

  get(id: string, scope: Scope): Promise<GateRequest> {
    return readRequest(this.#parts.store.ledger.read, id, scope)
  }

  /** Lists requests, newest first, without those that cannot be read. */
  list(filter: RequestFilter, scope: Scope): Promise<GateRequest[]> {
    const { store, logger } = this.#parts
    return readRequests(store.ledger.read, filter, scope, logger)
  }

  /** Finds the newest request. Throws `internal` for an unreadable one: no older one may replace it. */
  async findNewest(
    filter: Omit<RequestFilter, 'limit'>,
    scope: Scope,
  ): Promise<GateRequest | undefined> {
    const { read } = this.#parts.store.ledger
    const [id] = await readRequestIds(read, { ...filter, limit: 1 }, scope)
    return id === undefined ? undefined : readRequest(read, id, scope)
  }

  /** The newest requests, newest first, with the facts that a review needs. */
  listNewest(limit: number, scope: Scope): Promise<DecidedRequests> {
    const { store, logger } = this.#parts
    return readDecided(store.ledger.read, limit, scope, logger)
  }

  /** Number of pending requests by gate. */
  countPending(scope: Scope): Promise<Map<string, number>> {
    return countPending(this.#parts.store.ledger.read, scope, this.#parts.now())
  }

  /**
   * Reason why an open request can never pass: the rules of its gate have changed, or the gate is
   * gone.
   */
  rulesFault(request: GateRequest): string | undefined {
    const isOpen = ['pending', 'approved'].includes(stateAt(request, this.#parts.now()))
    return isOpen ? rulesFault(request, this.#find(request.gateId)) : undefined
  }

  approve(id: string, caller: Caller, { reason = '' }: DecisionOptions = {}): Promise<GateRequest> {
    return this.#changes.decide(id, 'approve', caller, found => {
      this.#requireSameRules(found)
      const rules = this.definition(found.gateId)
      return approveRequest(found, rules, caller.person, { now: this.#parts.now(), reason })
    })
  }

  reject(id: string, caller: Caller, { reason = '' }: DecisionOptions = {}): Promise<GateRequest> {
    return this.#changes.decide(id, 'reject', caller, found => {
      const rules = this.#find(found.gateId)
      return rejectRequest(found, rules, caller.person, { now: this.#parts.now(), reason })
    })
  }

  withdraw(id: string, caller: Caller): Promise<GateRequest> {
    return this.#changes.decide(id, 'withdrawn', caller, found =>
      withdrawRequest(found, caller.person, this.#parts.now()),
    )
  }

  /**
   * Uses an approval: exactly one of many concurrent callers succeeds. Throws `forbidden` when the
   * approval does not cover this plan now.
   */
  async consume(id: string, caller: Caller, use: Use): Promise<GateRequest> {
    await use.precondition?.()
    await this.#changes.followClock()
    const { store, signer, now } = this.#parts
    const hash = planHash(use.plan)
    const outcome = await store.ledger.sealed.write(async trx => {
      await this.#changes.settle(trx)
      const found = await readRequest(trx, id, { tenantId: caller.tenantId })
      const fault = await this.#useFault(trx, found, caller, hash)
      if (fault !== undefined) return { found, fault }
      const after = await useUp(trx, found, caller.by, now())
      if (after !== undefined) await this.#changes.report(trx, found, after)
      const approval = after && createSignedApproval(after, signer)
      if (approval !== undefined) await use.runInTransaction?.(trx, approval)
      return { found, after }
    })
    if (outcome.after !== undefined) return outcome.after
    const fault = outcome.fault ?? USED_BEFORE
    throw await auditRefusal(store.ledger, outcome.found, fault, caller.by, now())
  }

  /** An approval that a cell can verify offline. Throws `conflict` unless approved or consumed. */
  async approval(id: string, scope: Scope): Promise<Approval> {
    await this.#changes.followClock()
    const { store, signer, now } = this.#parts
    const found = await readRequest(store.ledger.read, id, scope)
    const state = stateAt(found, now())
    const signed = createSignedApproval(found, signer)
    if ((state !== 'approved' && state !== 'consumed') || signed === undefined)
      throw new ShoalError('conflict', `request ${id} is ${state}`)
    this.#requireSameRules(found)
    return signed
  }

  /** Marks overdue requests as expired. */
  sweep(ledger: Ledger = this.#parts.store.ledger): Promise<void> {
    return this.#changes.expireOverdue(ledger)
  }

  #find(gateId: string): GateDefinition | undefined {
    const { definitions } = this.#parts
    return Object.hasOwn(definitions, gateId) ? definitions[gateId] : undefined
  }

  #requireSameRules(request: GateRequest): void {
    const fault = this.rulesFault(request)
    if (fault !== undefined) throw new ShoalError('conflict', fault)
  }

  async #supersede(trx: Trx, ids: readonly string[], by: string, caller: Caller): Promise<void> {
    const change: RequestEnd = { state: 'superseded', reason: `superseded by ${by}` }
    for (const id of ids) await this.#changes.end(trx, id, change, caller.by)
  }

  async #useFault(
    trx: Trx,
    found: GateRequest,
    { person }: Caller,
    hash: string,
  ): Promise<UseFault | undefined> {
    if (person.personId !== found.requesterId) return { message: 'only the requester can use it' }
    const now = this.#parts.now()
    return useFault(found, this.#find(found.gateId), {
      planHash: hash,
      rolesNow: await rolesNow(trx, found, now),
      now,
    })
  }
}
