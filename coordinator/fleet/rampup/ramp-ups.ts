import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Starter } from '../../access/keys/starter.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Queue } from '../../kernel/queue/queue.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { isRoutable } from '../cells/cell.ts'
import type { Fleet } from '../cells/fleet.ts'
import { readCellConfigs } from '../control/config-store.ts'
import type { Configs } from '../control/configs.ts'
import { rampUpTable } from './ramp-up.table.ts'
import { planStages, type RampUp, type RampUpPlan } from './ramp-up.ts'
import type { RampUpConfig } from './rampup-config.ts'

export const RAMP_UP = 'ramp-up'
/** Gate that a start passes. */
export const RAMP_UP_GATE = 'gate.production-deploy'

interface RampUpsParts {
  ledger: Ledger
  config: RampUpConfig
  queue: Pick<Queue, 'addWithin' | 'wake'>
  configs: Pick<Configs, 'show'>
  fleet: Pick<Fleet, 'cells'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

/** Ramp-ups: the configured settings are rolled out in stages, one ramp-up at a time. */
export class RampUps {
  readonly #parts: RampUpsParts

  constructor(parts: RampUpsParts) {
    this.#parts = parts
  }

  get isConfigured(): boolean {
    return this.#parts.config.document !== undefined
  }

  /** Plans the stages. Throws `conflict` without settings to roll out, or without cells for them. */
  async plan(): Promise<RampUpPlan> {
    const { config, configs, fleet } = this.#parts
    const { document, tag, stages_percent, ...limits } = config
    if (document === undefined)
      throw new ShoalError('conflict', 'rampup.document is not configured')
    const cells = []
    for (const cell of fleet.cells()) {
      if (!isRoutable(cell)) continue
      if (tag === undefined || (await configs.show(cell.id)).tags.includes(tag)) cells.push(cell.id)
    }
    if (cells.length === 0)
      throw new ShoalError('conflict', 'no cell with the configured tag serves requests')
    const stages = planStages(cells, stages_percent)
    return { document, stages, ...limits }
  }

  /**
   * Starts an approved plan inside the transaction that uses the approval; call `wake` after the
   * commit. Throws `conflict` while another one runs.
   */
  async startWithin(trx: SealedTrx, plan: RampUpPlan, by: Starter): Promise<string> {
    const { queue, now, runtime } = this.#parts
    const { tenantId, keyId, requestId, actor } = by
    const running = await trx
      .selectFrom('ramp_ups')
      .select('id')
      .where('ended_at', 'is', null)
      .executeTakeFirst()
    if (running !== undefined)
      throw new ShoalError('conflict', `ramp-up ${running.id} is already running`)
    const own = await readCellConfigs(trx, plan.stages.flat())
    const before = Object.fromEntries([...own].map(([name, { document }]) => [name, document]))
    const id = runtime.ids.create('ramp', now())
    const job = await queue.addWithin(trx, { kind: RAMP_UP, payload: { id }, tenantId })
    const rampUp: RampUp = {
      id,
      tenantId,
      keyId,
      requestId,
      jobId: job.id,
      state: 'running',
      reason: undefined,
      plan: { ...plan, before },
      stage: 0,
      stageBeganAt: now(),
      heldSince: undefined,
      lostSince: undefined,
      errorsBeforePercent: undefined,
      aborted: false,
      fence: 0,
      createdAt: now(),
      changedAt: now(),
      endedAt: undefined,
    }
    await trx.insertInto('ramp_ups').values(rampUpTable.write(rampUp)).execute()
    const about = { tenant: tenantId, action: 'rampup.start', subject: id }
    await appendAudit(trx, { actor, requestId, at: now(), ...about, outcome: 'done' })
    return id
  }

  wake(): void {
    this.#parts.queue.wake()
  }

  /** Newest ramp-up of a tenant. */
  async latest(tenantId: string): Promise<RampUp | undefined> {
    const row = await this.#parts.ledger.read
      .selectFrom('ramp_ups')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .orderBy('created_at', 'desc')
      .executeTakeFirst()
    return row && rampUpTable.read(row)
  }

  /** Asks the running ramp-up of a tenant to restore the earlier settings. Throws `conflict`. */
  async abort(tenantId: string, by: Actor): Promise<void> {
    const { ledger, now } = this.#parts
    await ledger.sealed.write(async trx => {
      const row = await trx
        .updateTable('ramp_ups')
        .set(rampUpTable.writeSome({ aborted: true, changedAt: now() }))
        .where('tenant_id', '=', tenantId)
        .where('ended_at', 'is', null)
        .returning('id')
        .executeTakeFirst()
      if (row === undefined) throw new ShoalError('conflict', 'no ramp-up is running')
      const about = { tenant: tenantId, action: 'rampup.abort', subject: row.id }
      await appendAudit(trx, { ...by, at: now(), ...about, outcome: 'done' })
    })
    this.wake()
  }
}
