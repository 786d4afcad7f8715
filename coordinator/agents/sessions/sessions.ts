import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ledger, SealedTrx, Store } from '../../kernel/store/store.ts'
import { addSession } from './add-session.ts'
import type { AgentEvidence } from './agent-evidence.table.ts'
import {
  confirmCheck,
  type HeldCheck,
  holdCheck,
  type PassedCheck,
  passCheck,
} from './check-steps.ts'
import { claimScope } from './claim-scope.ts'
import type { AgentsConfig } from './config.ts'
import { type DockRequest, listFittingRoles, withProfile } from './docking.ts'
import { type EndedSession, endDue, endSession, freeClaims } from './ending.ts'
import { type Evidence, keepEvidence, readEvidence } from './evidence.ts'
import { noteTask, type TaskNote } from './note-task.ts'
import {
  type AgentSession,
  requireOutcome,
  requireStep,
  type SessionOutcome,
  type SessionStep,
  type WaitingCheck,
} from './session.ts'
import {
  countClaims,
  countLive,
  deleteEnded,
  dueSessions,
  findSession,
  noSession,
  readSession,
  readSessions,
  type SessionFilter,
} from './session-rows.ts'
import { isOwn, Steps } from './step.ts'

interface SessionParts {
  store: Pick<Store, 'ledger'>
  config: AgentsConfig
  addEvents: Events['addWithin']
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

const DAY_MS = 86_400_000

/**
 * Sessions of agents: the seven steps in order, each written with its audit row. All state is in
 * the ledger, so sessions outlive the process and several coordinators share them.
 */
export class Sessions {
  readonly #parts: SessionParts
  readonly #idleMs: number
  readonly #steps: Steps

  constructor(parts: SessionParts) {
    const { store, config, addEvents, now } = parts
    this.#parts = parts
    this.#idleMs = config.session_idle_minutes * 60_000
    this.#steps = new Steps({ ledger: store.ledger, idleMs: this.#idleMs, addEvents, now })
  }

  async dock(wanted: DockRequest, caller: Caller): Promise<AgentSession> {
    const { store, config, now } = this.#parts
    const request = withProfile(wanted, config.profiles)
    const roles = listFittingRoles(request)
    return store.ledger.sealed.write(async trx => {
      const wanted = { request, roles, caller, at: now() }
      const { made, ended } = await addSession(trx, wanted, this.#parts)
      await this.#reportExpired(trx, ended)
      await this.#steps.report(trx, 'docked', made)
      return made
    })
  }

  /** Throws `not_found` unless the caller owns the session or its supervisor session. */
  async get(id: string, caller: Caller): Promise<AgentSession> {
    const { read } = this.#parts.store.ledger
    const found = await readSession(read, id, caller.tenantId)
    if (isOwn(found, caller)) return found
    const { supervisorId } = found
    const supervisor = supervisorId && (await findSession(read, supervisorId, caller.tenantId))
    return supervisor && isOwn(supervisor, caller) ? found : noSession(id)
  }

  list(filter: SessionFilter): Promise<AgentSession[]> {
    return readSessions(this.#parts.store.ledger.read, filter)
  }

  countLive(tenantId: string): Promise<number> {
    return countLive(this.#parts.store.ledger.read, tenantId, this.#parts.now())
  }

  /** Number of scopes that live sessions hold. */
  countClaims(tenantId: string): Promise<number> {
    return countClaims(this.#parts.store.ledger.read, tenantId, this.#parts.now())
  }

  /** Evidence of one session, oldest first. */
  evidenceOf(id: string): Promise<AgentEvidence[]> {
    return readEvidence(this.#parts.store.ledger.read, id)
  }

  /** Throws `conflict` when this step is not the next. Call it before irreversible work. */
  async require(id: string, caller: Caller, wanted: SessionStep): Promise<AgentSession> {
    const found = await readSession(this.#parts.store.ledger.read, id, caller.tenantId)
    if (!isOwn(found, caller)) noSession(id)
    requireStep(found, wanted, this.#parts.now())
    return found
  }

  brief(id: string, caller: Caller): Promise<AgentSession> {
    return this.#steps.make(id, caller, 'brief', () => ({ event: 'briefed' }))
  }

  async claim(
    id: string,
    caller: Caller,
    { scope, taskId }: { scope: string; taskId: string | undefined },
  ): Promise<AgentSession> {
    const most = this.#parts.config.claims_per_session
    return this.#steps.make(id, caller, 'claim', async (trx, session, at) => {
      await this.#reportExpired(trx, await endDue(trx, at, session.tenantId))
      await claimScope(trx, session, { scope, taskId }, { at, most })
      return { event: 'claimed', details: { scope, task: taskId ?? null } }
    })
  }

  /** Lets a check pass, or has it wait for the supervisor. */
  pass(id: string, caller: Caller, { commit, ...check }: PassedCheck): Promise<AgentSession> {
    const options = commit === undefined ? {} : { commit }
    return this.#steps.make(id, caller, 'check', passCheck(check), options)
  }

  /** Records a check that did not pass; the session stays at its claim. */
  hold(id: string, caller: Caller, why: HeldCheck): Promise<AgentSession> {
    return this.#steps.make(id, caller, 'check', holdCheck(why))
  }

  /** Lets the waiting check pass; only the supervisor may do so. */
  async confirm(
    id: string,
    caller: Caller,
    check: Pick<WaitingCheck, 'actionType' | 'context'>,
  ): Promise<AgentSession> {
    const session = await this.get(id, caller)
    if (isOwn(session, caller))
      throw new ShoalError('forbidden', 'only the supervisor can confirm a check of this session')
    if (caller.person.kind !== 'person')
      throw new ShoalError('forbidden', `a key of kind ${caller.person.kind} cannot confirm checks`)
    return this.#steps.make(id, caller, 'check', confirmCheck(check), { isMine: () => true })
  }

  execute(id: string, caller: Caller, skill: string): Promise<AgentSession> {
    return this.#steps.make(id, caller, 'execute', () => ({
      event: 'executed',
      set: { lastSkill: skill },
      details: { skill },
    }))
  }

  evidence(id: string, caller: Caller, evidence: Evidence): Promise<AgentSession> {
    return this.#steps.make(id, caller, 'evidence', async (trx, session, at) => {
      const details = await keepEvidence(trx, session, evidence, { ...this.#parts, at })
      await freeClaims(trx, id)
      return { event: 'evidenced', details }
    })
  }

  /** Records the progress of the task that a claim of the caller is for. Throws `not_found`. */
  async noteTask(caller: Caller, note: TaskNote): Promise<AgentSession> {
    const times = { at: this.#parts.now(), idleMs: this.#idleMs }
    const { sealed } = this.#parts.store.ledger
    return sealed.write(async trx => {
      const after = await noteTask(trx, note, caller, times)
      await this.#steps.report(trx, 'updated', after)
      return after
    })
  }

  undock(
    id: string,
    caller: Caller,
    outcome: Exclude<SessionOutcome, 'expired'>,
  ): Promise<AgentSession> {
    return this.#steps.make(id, caller, 'undock', async (trx, session, at) => {
      requireOutcome(session, outcome)
      await endSession(trx, id, outcome, at)
      return { event: 'undocked', details: { outcome, from: session.step } }
    })
  }

  /** Ends overdue sessions and deletes old ones. Writes nothing when there are none. */
  async sweep(ledger: Ledger = this.#parts.store.ledger): Promise<void> {
    const { config, now } = this.#parts
    const at = now()
    const overdue = await dueSessions(ledger.read, at)
    if (overdue.length > 0)
      await ledger.sealed.write(async trx => this.#reportExpired(trx, await endDue(trx, at)))
    await deleteEnded(ledger, at - config.kept_days * DAY_MS)
  }

  async #reportExpired(trx: SealedTrx, ended: readonly EndedSession[]): Promise<void> {
    for (const session of ended) await this.#steps.report(trx, 'expired', session)
  }
}
