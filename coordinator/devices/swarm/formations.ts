import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { ApprovedPlan } from '../../../shared/wire/approved-plan.ts'
import { FORMATION_VERB } from '../../../shared/wire/formation.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { CommandRecord } from '../../fleet/control/command.ts'
import type { Commands } from '../../fleet/control/commands.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { Devices } from '../inventory/devices.ts'
import { findIntrusion } from './find-intrusion.ts'
import { OPEN_FORMATION_STATES, type StartedFormation } from './formation.table.ts'
import { type Decision, judgeFormation } from './formation.ts'
import { judgeEnd, listOutcomes } from './formation-outcome.ts'
import type { FormationPart } from './formation-part.table.ts'
import type { FormationPlan } from './formation-plan.ts'
import {
  changeFormation,
  insertFormation,
  readFormation,
  readFormations,
  readOpenFormations,
} from './formation-rows.ts'
import { UnitStopper } from './unit-stopper.ts'

interface FormationsParts {
  ledger: Ledger
  commands: Pick<Commands, 'create' | 'createWithin' | 'get'>
  devices: Pick<Devices, 'get' | 'list' | 'profile' | 'state'>
  fleet: Pick<Fleet, 'cell'>
  /** Unix milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
  logger: Pick<Logger, 'info' | 'warn'>
}

interface NewFormation {
  plan: FormationPlan
  /** Approved plan, as each cell verifies it. */
  approved: ApprovedPlan
  tenantId: string
  startAt: number
}

/** Actor of what follows from a formation itself. */
const OWN_ACTOR: Actor = { actor: 'coordinator' }

/**
 * Formations under way. All state is in the store: every coordinator follows all of them, and each
 * step is taken by the one whose conditional update wins.
 */
export class Formations {
  readonly #parts: FormationsParts
  readonly #stopper: UnitStopper

  constructor(parts: FormationsParts) {
    this.#parts = parts
    this.#stopper = new UnitStopper(parts)
  }

  /** Starts a formation in the transaction that uses its approval: a command for each cell. */
  async startWithin(
    trx: SealedTrx,
    { plan, approved, tenantId, startAt }: NewFormation,
    by: Actor,
  ): Promise<StartedFormation> {
    const now = this.#parts.now()
    const parts: FormationPart[] = []
    for (const { cell_id, params } of plan.cells) {
      const request = {
        cellId: cell_id,
        verb: FORMATION_VERB,
        params: { ...params, start_at: startAt },
        ttlSeconds: Math.max(1, Math.floor((startAt - now) / 1000)),
      }
      const { id } = await this.#parts.commands.createWithin(trx, request, by, approved)
      const ref = plan.parts.find(part => part.cell_id === cell_id)
      parts.push({ cellId: cell_id, partHash: ref?.part_hash ?? '', commandId: id })
    }
    const started: StartedFormation = {
      id: this.#parts.runtime.ids.create('formation', now),
      tenantId,
      requestId: approved.approval.request_id,
      formation: plan.formation,
      state: 'running',
      plan,
      createdBy: by.actor,
      createdAt: now,
      startAt,
      endsAt: startAt + Math.ceil(plan.duration_s * 1000),
      changedAt: now,
      endedAt: undefined,
      reason: undefined,
      stoppedBy: undefined,
      outcome: undefined,
      parts,
    }
    await insertFormation(trx, started)
    await this.#audit(trx, started, { ...by, action: 'swarm.start', outcome: 'done' })
    return started
  }

  get(id: string): Promise<StartedFormation | undefined> {
    return readFormation(this.#parts.ledger.read, id)
  }

  list(filter: { before?: string; since?: number; limit: number }): Promise<StartedFormation[]> {
    return readFormations(this.#parts.ledger.read, filter)
  }

  listOpen(): Promise<StartedFormation[]> {
    return readOpenFormations(this.#parts.ledger.read)
  }

  /** Commands of a formation, in the order of its parts; without those that are forgotten. */
  async listCommands({ parts }: Pick<StartedFormation, 'parts'>): Promise<CommandRecord[]> {
    const found = await Promise.all(
      parts.map(({ commandId }) => this.#parts.commands.get(commandId)),
    )
    return found.filter(command => command !== undefined)
  }

  /**
   * Aborts a formation: all of its units are stopped at once. Repeating it stops them again.
   * @throws ShoalError not_found, and conflict for a formation that has ended
   */
  async abort(id: string, reason: string, by: Actor): Promise<StartedFormation> {
    const found = await this.get(id)
    if (found === undefined) throw createUnknownError('formation', id)
    if (!OPEN_FORMATION_STATES.includes(found.state))
      throw new ShoalError('conflict', `formation ${id} has ended: it is ${found.state}`)
    // the units come first; the store may be slow
    const stopped = this.#stopper.stopAll(found, by)
    await this.#beginAbort(found, reason, by)
    await stopped
    return (await this.get(id)) ?? found
  }

  /** Follows all formations that have not ended; call it about twice a second. */
  async follow(): Promise<void> {
    const open = await this.listOpen()
    for (const formation of open) await this.#step(formation)
    this.#stopper.keep(open)
  }

  async #step(formation: StartedFormation): Promise<void> {
    const commands = await this.listCommands(formation)
    const now = this.#parts.now()
    const decision = this.#judge(formation, commands, now)
    if (decision.do === 'abort') {
      if (await this.#beginAbort(formation, decision.reason, undefined))
        await this.#stopper.stopAll(formation, OWN_ACTOR)
    } else if (decision.do === 'stop') {
      if (this.#stopper.isDue(formation)) await this.#stopper.stopAll(formation, OWN_ACTOR)
    } else if (decision.do === 'end') await this.#end(formation, commands, decision.hasReported)
  }

  /** Decides by the commands, and by the devices that are not part of the formation. */
  #judge(formation: StartedFormation, commands: readonly CommandRecord[], now: number): Decision {
    const decision = judgeFormation(formation, commands, now)
    if (decision.do !== 'nothing') return decision
    const reason = findIntrusion(formation, now, this.#parts)
    return reason === undefined ? decision : { do: 'abort', reason }
  }

  /** Returns true for the only caller that has begun the abort. */
  async #beginAbort(
    formation: StartedFormation,
    reason: string,
    by: Actor | undefined,
  ): Promise<boolean> {
    const { ledger, now, logger } = this.#parts
    const change = { state: 'aborting' as const, at: now(), reason, stoppedBy: by?.actor }
    const hasBegun = await ledger.sealed.write(async trx => {
      if (!(await changeFormation(trx, formation.id, 'running', change))) return false
      const entry = { ...(by ?? OWN_ACTOR), action: 'swarm.abort', outcome: 'done' as const }
      await this.#audit(trx, formation, { ...entry, details: { reason } })
      return true
    })
    if (hasBegun) logger.warn({ formation: formation.id, reason }, 'formation aborted')
    return hasBegun
  }

  async #end(
    formation: StartedFormation,
    commands: readonly CommandRecord[],
    hasReported: boolean,
  ): Promise<void> {
    const { ledger, now } = this.#parts
    const outcome = listOutcomes(formation, commands)
    const missed = outcome.filter(({ reached }) => !reached)
    const { state, reason } = judgeEnd(formation, { hasReported, missed: missed.length })
    await ledger.sealed.write(async trx => {
      const change = { state, at: now(), reason, outcome } as const
      if (!(await changeFormation(trx, formation.id, formation.state, change))) return
      await this.#audit(trx, formation, {
        ...OWN_ACTOR,
        action: 'swarm.end',
        outcome: 'done',
        details: { state, missed: missed.length },
      })
    })
  }

  async #audit(
    trx: SealedTrx,
    { id, tenantId, formation, requestId, plan }: StartedFormation,
    entry: Omit<Parameters<typeof appendAudit>[1], 'at' | 'subject' | 'tenant'>,
  ): Promise<void> {
    await appendAudit(trx, {
      ...entry,
      at: this.#parts.now(),
      tenant: tenantId,
      subject: id,
      details: { formation, request: requestId, units: plan.units.length, ...entry.details },
    })
  }
}
