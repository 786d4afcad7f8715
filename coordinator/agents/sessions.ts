import { ShoalError } from '../../shared/errors.ts'
import type { Events } from '../events/bus.ts'
import type { Caller } from '../gates/asking.ts'
import type { Store } from '../store/store.ts'
import { addSession } from './add-session.ts'
import { claimScope } from './claim-scope.ts'
import type { AgentsConfig } from './config.ts'
import { type DockRequest, fittingRoles, requireLive, withProfile } from './docking.ts'
import { type Ended, endDue, endSession, freeClaims } from './ending.ts'
import { type Evidence, type KeptEvidence, keepEvidence, readEvidence } from './evidence.ts'
import { noteTask, type TaskNote } from './note-task.ts'
import {
  type AgentSession,
  type Outcome,
  requireOutcome,
  requireStep,
  type Step,
  type WaitingCheck,
} from './session.ts'
import {
  countClaims,
  countLive,
  dueSessions,
  findSession,
  noSession,
  readSession,
  readSessions,
  type SessionFilter,
} from './session-rows.ts'
import { type Commit, createStep, isOwn } from './step.ts'

/** A check that the policy has let through, in whose transaction the approval is used up. */
export interface PassedCheck extends WaitingCheck {
  commit?: Commit
}

/**
 * The sessions of agents: the seven steps in their order, each written with its row of the audit.
 * Everything is in the ledger, so sessions outlive the process and several coordinators see the same.
 */
export interface Sessions {
  dock(request: DockRequest, caller: Caller): Promise<AgentSession>
  /** Throws `not_found` for one of somebody else whom the caller does not supervise. */
  get(id: string, caller: Caller): Promise<AgentSession>
  list(filter: SessionFilter): Promise<AgentSession[]>
  countLive(tenantId: string): Promise<number>
  /** Scopes that live sessions hold. */
  countClaims(tenantId: string): Promise<number>
  /** Of one session, the oldest first. */
  evidenceOf(id: string): Promise<KeptEvidence[]>
  /** Throws `conflict` when this step is not the next: before something is done that cannot be undone. */
  require(id: string, caller: Caller, step: Step): Promise<AgentSession>
  brief(id: string, caller: Caller): Promise<AgentSession>
  claim(
    id: string,
    caller: Caller,
    claim: { scope: string; taskId: string | undefined },
  ): Promise<AgentSession>
  /** The check has passed, or it waits for the supervisor. */
  pass(id: string, caller: Caller, check: PassedCheck): Promise<AgentSession>
  /** The check has not passed: the session stands at its claim, and that is on record. */
  hold(id: string, caller: Caller, why: HeldCheck): Promise<AgentSession>
  /** The supervisor lets the waiting check pass. */
  confirm(
    id: string,
    caller: Caller,
    check: Pick<WaitingCheck, 'actionType' | 'context'>,
  ): Promise<AgentSession>
  execute(id: string, caller: Caller, skill: string): Promise<AgentSession>
  evidence(id: string, caller: Caller, evidence: Evidence): Promise<AgentSession>
  /** How far the task is that a scope of the caller's is held for. Throws `not_found`. */
  noteTask(caller: Caller, note: TaskNote): Promise<AgentSession>
  undock(id: string, caller: Caller, outcome: Exclude<Outcome, 'expired'>): Promise<AgentSession>
  /** Notes what has expired and forgets what is old. */
  sweep(): Promise<void>
}

export interface HeldCheck {
  actionType: string
  gateId: string | undefined
  /** False when the policy denies it. */
  pending: boolean
}

export interface SessionParts {
  store: Pick<Store, 'ledger'>
  config: AgentsConfig
  publish: Events['publish']
  now: () => number
}

const DAY_MS = 86_400_000

export const createSessions = ({ store, config, publish, now }: SessionParts): Sessions => {
  const { ledger } = store
  const idleMs = config.session_idle_minutes * 60_000
  const { step, tell } = createStep({ ledger, idleMs, publish, now })

  const tellEnded = (ended: readonly Ended[]): void => {
    for (const session of ended) tell('expired', session)
  }

  const dock: Sessions['dock'] = async (asked, caller) => {
    const request = withProfile(asked, config.profiles)
    const roles = fittingRoles(request)
    const { made, ended } = await ledger.sealed.write(trx =>
      addSession(trx, { request, roles, caller, at: now() }, config),
    )
    tellEnded(ended)
    tell('docked', made)
    return made
  }

  const get: Sessions['get'] = async (id, caller) => {
    const found = await readSession(ledger.read, id, caller.tenantId)
    if (isOwn(found, caller)) return found
    const { supervisorId } = found
    const supervisor =
      supervisorId && (await findSession(ledger.read, supervisorId, caller.tenantId))
    return supervisor && isOwn(supervisor, caller) ? found : noSession(id)
  }

  const claim: Sessions['claim'] = async (id, caller, { scope, taskId }) => {
    let ended: Ended[] = []
    const after = await step(id, caller, 'claim', async (trx, session, at) => {
      ended = await endDue(trx, at, session.tenantId)
      await claimScope(trx, session, { scope, taskId }, { at, most: config.claims_per_session })
      return { event: 'claimed', details: { scope, task: taskId ?? null } }
    })
    tellEnded(ended)
    return after
  }

  const pass: Sessions['pass'] = (id, caller, { commit, ...check }) =>
    step(
      id,
      caller,
      'check',
      (_trx, { supervisorId }) => {
        const details = { action: check.actionType, gate_request: check.requestId ?? null }
        if (supervisorId === undefined)
          return { event: 'checked', set: { waiting_json: null }, details }
        return {
          event: 'waits',
          step: 'claim',
          set: { waiting_json: JSON.stringify(check) },
          details: { ...details, waits_for: supervisorId },
        }
      },
      commit === undefined ? {} : { commit },
    )

  const hold: Sessions['hold'] = (id, caller, { actionType, gateId, pending }) =>
    step(id, caller, 'check', () => ({
      event: pending ? 'waits' : 'denied',
      step: 'claim',
      set: { waiting_json: null },
      details: { action: actionType, waits_for: gateId ?? null },
      refused: !pending,
    }))

  const confirm: Sessions['confirm'] = async (id, caller, { actionType, context }) => {
    const session = await get(id, caller)
    if (isOwn(session, caller))
      throw new ShoalError('forbidden', 'the supervisor confirms a check, not who has asked')
    if (caller.person.kind !== 'person')
      throw new ShoalError('forbidden', `a key of kind ${caller.person.kind} confirms nothing`)
    return step(
      id,
      caller,
      'check',
      async (trx, { waiting, supervisorId = '' }, at) => {
        requireLive(await readSession(trx, supervisorId, caller.tenantId), at)
        if (waiting === undefined)
          throw new ShoalError('conflict', `no check of session ${id} waits for you`)
        if (waiting.actionType !== actionType || waiting.context !== context)
          throw new ShoalError(
            'conflict',
            `another check waits: ${waiting.actionType}${waiting.context === undefined ? '' : ' with a context'}; look at the session, and confirm just that`,
          )
        return {
          event: 'checked',
          set: { waiting_json: null },
          details: { action: actionType, confirmed_by: supervisorId },
        }
      },
      { isMine: () => true },
    )
  }

  const execute: Sessions['execute'] = (id, caller, skill) =>
    step(id, caller, 'execute', () => ({
      event: 'executed',
      set: { last_skill: skill },
      details: { skill },
    }))

  const evidence: Sessions['evidence'] = (id, caller, shown) =>
    step(id, caller, 'evidence', async (trx, session, at) => {
      const details = await keepEvidence(trx, session, shown, at)
      await freeClaims(trx, id)
      return { event: 'evidenced', details }
    })

  const note: Sessions['noteTask'] = async (caller, told) => {
    const times = { at: now(), idleMs }
    const after = await ledger.sealed.write(trx => noteTask(trx, told, caller, times))
    tell('updated', after)
    return after
  }

  const undock: Sessions['undock'] = (id, caller, outcome) =>
    step(id, caller, 'undock', async (trx, session, at) => {
      requireOutcome(session, outcome)
      await endSession(trx, id, outcome, at)
      return { event: 'undocked', details: { outcome, from: session.step } }
    })

  const sweep: Sessions['sweep'] = async () => {
    const at = now()
    // a coordinator with nothing to do writes nothing
    const due = await dueSessions(ledger.read, at)
    if (due.length > 0) tellEnded(await ledger.sealed.write(trx => endDue(trx, at)))
    await forget(at - config.kept_days * DAY_MS)
  }

  /** A hundred at a time, so that no transaction is long. */
  const forget = async (before: number): Promise<void> => {
    const old = await ledger.read
      .selectFrom('agent_sessions')
      .select('id')
      .where('ended_at', '<', before)
      .limit(100)
      .execute()
    if (old.length === 0) return
    const ids = old.map(({ id }) => id)
    await ledger.free.write(async trx => {
      await trx.deleteFrom('agent_evidence').where('session_id', 'in', ids).execute()
      await trx.deleteFrom('agent_sessions').where('id', 'in', ids).execute()
    })
  }

  return {
    dock,
    get,
    list: filter => readSessions(ledger.read, filter),
    countLive: tenantId => countLive(ledger.read, tenantId, now()),
    countClaims: tenantId => countClaims(ledger.read, tenantId, now()),
    evidenceOf: id => readEvidence(ledger.read, id),
    require: async (id, caller, wanted) => {
      const found = await readSession(ledger.read, id, caller.tenantId)
      if (!isOwn(found, caller)) noSession(id)
      requireStep(found, wanted, now())
      return found
    },
    brief: (id, caller) => step(id, caller, 'brief', () => ({ event: 'briefed' })),
    ...{ claim, pass, hold, confirm, execute, evidence, undock, sweep },
    noteTask: note,
  }
}
