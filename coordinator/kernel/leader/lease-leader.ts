import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import { createElapsedMs } from '../leases/elapsed.ts'
import type { HeldLease, Leases } from '../leases/leases.ts'
import { Tenure } from '../leases/tenure.ts'
import type { LedgerTables } from '../store/tables.ts'
import { createNotLeaderError, type Leader } from './leader.ts'

interface LeaseLeaderParts {
  leases: Leases
  /** Unique over all processes and their restarts. */
  owner: string
  logger: Pick<Logger, 'info' | 'warn'>
  runtime: Pick<Runtime, 'now' | 'nowMs'>
  /** Length of a tenure that is not renewed; a partitioned leader steps down this soon. */
  tenureMs?: number
}

/** Name of the lease that the leading process holds. */
export const LEADER_LEASE = 'leader'
const TENURE_MS = 3000
/** Three renewals per tenure: one may fail or be slow without a change of the leader. */
export const CAMPAIGN_SECONDS = TENURE_MS / 3000

/** Leader of a store that several processes share, by one lease row whose epoch is the fence. */
export class LeaseLeader implements Leader {
  readonly #parts: LeaseLeaderParts
  readonly #tenureMs: number
  #lease: HeldLease | undefined
  readonly #tenure: Tenure
  #campaign: Promise<void> | undefined
  #isClosed = false

  constructor(parts: LeaseLeaderParts) {
    this.#parts = parts
    this.#tenureMs = parts.tenureMs ?? TENURE_MS
    this.#tenure = new Tenure(createElapsedMs(parts.runtime))
  }

  isLeader(): boolean {
    return this.#lease !== undefined && !this.#tenure.isOver
  }

  async requireLeader(trx: Transaction<LedgerTables>): Promise<void> {
    const lease = this.#lease
    if (lease === undefined || !(await this.#parts.leases.holds(trx, lease)))
      throw createNotLeaderError()
  }

  /** Renews the tenure, or tries to begin one. Attempts do not overlap, and none rejects. */
  campaign(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#campaign ??= this.#attempt()
      .catch(error => {
        this.#parts.logger.warn({ err: error }, 'the leadership could not be claimed')
      })
      .finally(() => {
        this.#campaign = undefined
      })
    return this.#campaign
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#campaign
    const lease = this.#lease
    this.#lease = undefined
    if (lease !== undefined) await this.#parts.leases.release(lease).catch(() => {})
  }

  async #attempt(): Promise<void> {
    const { leases, owner, logger } = this.#parts
    const before = this.#lease
    const askedMs = this.#tenure.ask()
    this.#lease =
      (before && (await leases.renew(before, this.#tenureMs))) ??
      (await leases.acquire({ name: LEADER_LEASE, owner, milliseconds: this.#tenureMs }))
    if (this.#lease !== undefined) this.#tenure.extend(askedMs, this.#tenureMs)
    const epoch = this.#lease?.epoch
    if (epoch === before?.epoch) return
    if (epoch === undefined) logger.info('another coordinator leads the fleet')
    else logger.info({ epoch }, 'this coordinator leads the fleet')
  }
}
