import type { Trx } from '../../access/gates/asking.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { agentSessionTable } from './agent-session.table.ts'
import { type AgentSession, requireStep, type SessionStep } from './session.ts'
import { noSession, readSession } from './session-rows.ts'

/** Runs a piece of work inside a transaction of the ledger. */
export type Commit = <R>(work: (trx: Trx) => Promise<R>) => Promise<R>

/** The change that a step makes, beside the step itself and its time. */
interface SessionChange {
  /** Last part of the event's type, such as `claimed`. */
  event: string
  /** Step of the session afterwards; the step just made by default. */
  step?: SessionStep
  set?: Partial<EntityOf<typeof agentSessionTable>>
  details?: Record<string, unknown>
  refused?: boolean
}

/** Judges a session inside the transaction of the step, at a Unix time in milliseconds. */
export type DecideStep = (
  trx: Trx,
  session: AgentSession,
  at: number,
) => Promise<SessionChange> | SessionChange

interface StepOptions {
  commit?: Commit
  /** True when the caller may make this step; the owner by default. */
  isMine?: (session: AgentSession, caller: Caller) => boolean
}

export const isOwn = ({ personId }: AgentSession, { person }: Caller): boolean =>
  personId === person.personId

interface StepParts {
  ledger: Ledger
  /** Time that a session stays open after a step, milliseconds. */
  idleMs: number
  addEvents: Events['addWithin']
  /** Unix time, milliseconds. */
  now: () => number
}

/** Makes the steps of sessions, each with its audit row and its event. */
export class Steps {
  readonly #parts: StepParts

  constructor(parts: StepParts) {
    this.#parts = parts
  }

  /** Adds the event of a session to the transaction that changes it. */
  report(trx: Trx, event: string, session: AgentSession): Promise<void> {
    const { id, tenantId, personId, agentId, step, variant, outcome = null } = session
    const who = { tenant_id: tenantId, person_id: personId, agent_id: agentId }
    const data = { ...who, step, variant, outcome }
    return this.#parts.addEvents(trx, [{ type: `shoal.session.${event}`, data, subject: id }])
  }

  /** Reads the session, lets `decide` judge it, and writes the change with its audit row. */
  async make(
    id: string,
    caller: Caller,
    wanted: SessionStep,
    decide: DecideStep,
    { commit = this.#parts.ledger.sealed.write as Commit, isMine = isOwn }: StepOptions = {},
  ): Promise<AgentSession> {
    return commit(async trx => {
      const at = this.#parts.now()
      const session = await readSession(trx, id, caller.tenantId)
      if (!isMine(session, caller)) noSession(id)
      requireStep(session, wanted, at)
      const change = await decide(trx, session, at)
      await this.#write(trx, session, wanted, { change, caller, at })
      const after = await readSession(trx, id, caller.tenantId)
      await this.report(trx, change.event, after)
      return after
    })
  }

  async #write(
    trx: Trx,
    session: AgentSession,
    wanted: SessionStep,
    { change, caller, at }: { change: SessionChange; caller: Caller; at: number },
  ): Promise<void> {
    const fields = {
      step: change.step ?? wanted,
      seenAt: at,
      idleAt: Math.min(at + this.#parts.idleMs, session.expiresAt),
      ...change.set,
    }
    await trx
      .updateTable('agent_sessions')
      .set(agentSessionTable.writeSome(fields))
      .where('id', '=', session.id)
      .execute()
    await appendAudit(trx, {
      ...caller.by,
      at,
      tenant: session.tenantId,
      action: `session.${wanted}`,
      subject: session.id,
      outcome: change.refused ? 'refused' : 'done',
      details: { agent: session.agentId, person: caller.person.personId, ...change.details },
    })
  }
}
