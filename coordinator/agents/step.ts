import { appendAudit } from '../audit/audit.ts'
import type { Events } from '../events/bus.ts'
import type { Caller, Trx } from '../gates/asking.ts'
import type { AgentSessionRow } from '../store/agent-tables.ts'
import type { Ledger } from '../store/store.ts'
import { type AgentSession, requireStep, type Step } from './session.ts'
import { noSession, readSession } from './session-rows.ts'

/** Runs a piece of work inside a transaction of the ledger. */
export type Commit = <R>(work: (trx: Trx) => Promise<R>) => Promise<R>

/** What a step changes, beside the step itself and its time. */
export interface Change {
  /** What it is called as an event: `claimed`. */
  event: string
  /** Where the session stands then, when that is not the step itself. */
  step?: Step
  set?: Partial<AgentSessionRow>
  details?: Record<string, unknown>
  refused?: boolean
}

export interface StepOptions {
  commit?: Commit
  /** Whether the caller may make this step; the owner by default. */
  isMine?: (session: AgentSession, caller: Caller) => boolean
}

export const isOwn = ({ personId }: AgentSession, { person }: Caller): boolean =>
  personId === person.personId

export interface StepParts {
  ledger: Ledger
  /** How long a session lives on after a step. */
  idleMs: number
  publish: Events['publish']
  now: () => number
}

/** How one step of a session is made, and how others are told. */
export const createStep = ({ ledger, idleMs, publish, now }: StepParts) => {
  const tell = (event: string, session: AgentSession): void => {
    const { id, tenantId, personId, agentId, step, variant, outcome = null } = session
    const who = { tenant_id: tenantId, person_id: personId, agent_id: agentId }
    const data = { ...who, step, variant, outcome }
    publish(`shoal.session.${event}`, data, id)
  }

  /** Reads what is there, lets `decide` judge it, and writes the change with its audit row. */
  const step = async (
    id: string,
    caller: Caller,
    wanted: Step,
    decide: (trx: Trx, session: AgentSession, at: number) => Promise<Change> | Change,
    { commit = ledger.sealed.write as Commit, isMine = isOwn }: StepOptions = {},
  ): Promise<AgentSession> => {
    let event = ''
    const after = await commit(async trx => {
      const at = now()
      const session = await readSession(trx, id, caller.tenantId)
      if (!isMine(session, caller)) noSession(id)
      requireStep(session, wanted, at)
      const change = await decide(trx, session, at)
      event = change.event
      await trx
        .updateTable('agent_sessions')
        .set({
          step: change.step ?? wanted,
          seen_at: at,
          idle_at: Math.min(at + idleMs, session.expiresAt),
          ...change.set,
        })
        .where('id', '=', id)
        .execute()
      await appendAudit(trx, {
        ...caller.by,
        at,
        tenant: session.tenantId,
        action: `session.${wanted}`,
        subject: id,
        outcome: change.refused ? 'refused' : 'done',
        details: { agent: session.agentId, person: caller.person.personId, ...change.details },
      })
      return readSession(trx, id, caller.tenantId)
    })
    tell(event, after)
    return after
  }

  return { step, tell }
}
