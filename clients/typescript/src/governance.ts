import type { ShoalClient } from './client.ts'
import { GateNotApproved } from './errors.ts'
import type { Operations } from './operations.ts'
import { pathPart } from './path-part.ts'

/** State of a gate for one request. */
export type GateStatus = Operations['gates-check']['output']
export type PolicyAnswer = Operations['policy-check']['output']
export type AuditRow = Operations['audit-query']['output']['rows'][number]

/** Requests approvals and reads their state. This class cannot approve anything. */
export class GateCheck {
  readonly #client: ShoalClient
  constructor(client: ShoalClient) {
    this.#client = client
  }

  /** Reads the state of this request, or of your newest one at the gate. */
  async check(gateId: string, requestId?: string): Promise<GateStatus> {
    return this.#client.call('GET', `/v1/gates/${pathPart(gateId)}`, {
      query: { request_id: requestId },
    })
  }

  /** Reads the state and throws `GateNotApproved` unless the request is approved. */
  async require(gateId: string, requestId?: string): Promise<GateStatus> {
    const found = await this.check(gateId, requestId)
    if (found.status !== 'approved') throw new GateNotApproved(gateId, found.status, found.reason)
    return found
  }

  /** Requests approval of exactly this plan. */
  async request(
    gateId: string,
    plan: unknown,
    summary: string,
  ): Promise<Operations['gates-request']['output']> {
    return this.#client.call('POST', `/v1/gates/${pathPart(gateId)}/requests`, {
      body: { plan, summary },
    })
  }

  /** Uses up an approval, once, just before this plan is carried out. */
  async consume(requestId: string, plan: unknown): Promise<Operations['gates-consume']['output']> {
    return this.#client.call('POST', `/v1/gates/requests/${pathPart(requestId)}/consume`, {
      body: { plan },
    })
  }
}

/** The human-approval boundary and the governance checks. */
export class PolicyCheck {
  readonly #client: ShoalClient
  constructor(client: ShoalClient) {
    this.#client = client
  }

  /** Asks whether an action is allowed, needs a gate (`gate_id`) or is denied. */
  check(action: { actionType: string; actorId?: string; context?: string }): Promise<PolicyAnswer> {
    const { actionType, actorId, context } = action
    const body = { action_type: actionType, actor_id: actorId, context }
    return this.#client.call('POST', '/v1/skills/policy-check', { body })
  }

  /** Runs the governance checks. */
  run(): Promise<Operations['policy-checks']['output']> {
    return this.#client.call('GET', '/v1/policy/checks')
  }
}

export interface AuditFilter {
  /** A time, or a span back from now such as `24h`. */
  since?: string
  until?: string
  action?: string
  actor?: string
  subject?: string
}

/** The coordinator's audit chain: every action with its actor. */
export class AuditTrail {
  readonly #client: ShoalClient
  constructor(client: ShoalClient) {
    this.#client = client
  }

  /** The newest rows. */
  async query(filter: AuditFilter = {}, limit = 100): Promise<AuditRow[]> {
    return (await this.#page(filter, limit)).rows
  }

  /** All rows, newest first, page by page. */
  async *rows(filter: AuditFilter = {}): AsyncGenerator<AuditRow> {
    let before: number | undefined
    do {
      const page = await this.#page(filter, 1000, before)
      yield* page.rows
      before = page.next ?? undefined
    } while (before !== undefined)
  }

  /** Verifies that the chain is complete and unchanged. */
  verify(): Promise<Operations['audit-verify']['output']> {
    return this.#client.call('GET', '/v1/audit/verify')
  }

  #page(
    filter: AuditFilter,
    limit: number,
    before?: number,
  ): Promise<Operations['audit-query']['output']> {
    return this.#client.call('GET', '/v1/audit', { query: { ...filter, limit, before } })
  }
}

export type Framework = 'iso42001' | 'eu-ai-act' | 'gdpr' | 'all'

/** The evidence for each control of a framework. It never is a verdict. */
export class ComplianceCheck {
  readonly #client: ShoalClient
  constructor(client: ShoalClient) {
    this.#client = client
  }

  check(framework: Framework = 'all'): Promise<Operations['compliance-check']['output']> {
    return this.#client.call('POST', '/v1/skills/compliance-check', { body: { framework } })
  }

  report(framework: Framework = 'all'): Promise<Operations['compliance-report']['output']> {
    return this.#client.call('GET', '/portal/api/compliance/report', { query: { framework } })
  }
}
