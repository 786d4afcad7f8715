import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import type { ApprovedPlan } from '../../shared/wire/approved-plan.ts'
import { FORMATION_VERB, FormationResult } from '../../shared/wire/formation.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import { type CommandRecord, isFinalCommandState } from '../control/command.ts'
import type { Commands } from '../control/commands.ts'
import type { Devices } from '../devices/devices.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import {
  type FormationPart,
  judgeFormation,
  OPEN_FORMATION_STATES,
  type StartedFormation,
  type UnitOutcome,
} from './formation.ts'
import type { FormationPlan } from './formation-plan.ts'
import {
  changeFormation,
  insertFormation,
  readFormation,
  readFormations,
  readOpenFormations,
} from './formation-rows.ts'

interface FormationsParts {
  ledger: Ledger
  commands: Pick<Commands, 'create' | 'createWithin' | 'get'>
  devices: Pick<Devices, 'get' | 'profile'>
  /** Unix milliseconds. */
  now: () => number
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

/** Urgent verbs that bring a unit to rest, the mildest first. */
const HALT_VERBS = ['hold', 'stop', 'land']
const HALT_SECONDS = 30
/** Time after which units that have not come to rest are stopped again, in milliseconds. */
const STOP_AGAIN_MS = 3000

/**
 * Formations under way. All state is in the store: every coordinator follows all of them, and each
 * step is taken by the one whose conditional update wins.
 */
export class Formations {
  readonly #parts: FormationsParts
  /** Time of the last stop of each formation by this coordinator. */
  readonly #stoppedAt = new Map<string, number>()

  constructor(parts: FormationsParts) {
    this.#parts = parts
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
      id: newId('formation', now),
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
    if (found === undefined)
      throw new ShoalError('not_found', `no formation ${id}`, { param: 'formation_id' })
    if (!OPEN_FORMATION_STATES.includes(found.state))
      throw new ShoalError('conflict', `formation ${id} has ended: it is ${found.state}`)
    // the units come first; the store may be slow
    const stopped = this.#stopUnits(found, by)
    await this.#beginAbort(found, reason, by)
    await stopped
    return (await this.get(id)) ?? found
  }

  /** Follows all formations that have not ended; call it about twice a second. */
  async follow(): Promise<void> {
    const open = await this.listOpen()
    for (const formation of open) await this.#step(formation)
    for (const id of this.#stoppedAt.keys())
      if (!open.some(one => one.id === id)) this.#stoppedAt.delete(id)
  }

  async #step(formation: StartedFormation): Promise<void> {
    const commands = await this.listCommands(formation)
    const now = this.#parts.now()
    const decision = judgeFormation(formation, commands, now)
    if (decision.do === 'abort') {
      if (await this.#beginAbort(formation, decision.reason, undefined))
        await this.#stopUnits(formation, OWN_ACTOR)
    } else if (decision.do === 'stop') {
      if (now - (this.#stoppedAt.get(formation.id) ?? formation.changedAt) > STOP_AGAIN_MS)
        await this.#stopUnits(formation, OWN_ACTOR)
    } else if (decision.do === 'end') await this.#end(formation, commands, decision.hasReported)
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

  /** Stops every unit, one of each cell first: a unit that is stopped ends the part of its cell. */
  async #stopUnits(formation: StartedFormation, by: Actor): Promise<void> {
    const { logger, now } = this.#parts
    this.#stoppedAt.set(formation.id, now())
    const firsts = new Set<string>()
    const units = formation.plan.units
      .map(unit => ({ unit, isFirst: firsts.size < firsts.add(unit.cell_id).size }))
      .sort((a, b) => Number(b.isFirst) - Number(a.isFirst))
    const stopped = await Promise.allSettled(units.map(({ unit }) => this.#stopUnit(unit, by)))
    for (const one of stopped)
      if (one.status === 'rejected')
        logger.warn({ formation: formation.id, err: one.reason }, 'a unit was not stopped')
  }

  async #stopUnit(
    { device_id, cell_id }: Pick<UnitOutcome, 'device_id' | 'cell_id'>,
    by: Actor,
  ): Promise<void> {
    const { devices, commands } = this.#parts
    const device = devices.get(device_id)
    const verbs = device && devices.profile(device)?.verbs
    const halt = HALT_VERBS.find(name => verbs?.some(({ verb, urgent }) => verb === name && urgent))
    const request = {
      cellId: cell_id,
      deviceId: device_id,
      verb: halt ?? 'stop',
      params: {},
      hazard: 'safe' as const,
      mode: 'live' as const,
      ttlSeconds: HALT_SECONDS,
    }
    await commands.create(request, by)
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

const judgeEnd = (
  { state, reason, stoppedBy }: StartedFormation,
  { hasReported, missed }: { hasReported: boolean; missed: number },
): { state: 'reached' | 'aborted' | 'failed'; reason: string | undefined } => {
  if (state === 'aborting') {
    const silent = `${reason}; a cell has not reported the end`
    return {
      state: stoppedBy === undefined ? 'failed' : 'aborted',
      reason: hasReported ? undefined : silent,
    }
  }
  if (missed === 0) return { state: 'reached', reason: undefined }
  return { state: 'failed', reason: `${missed} units are not in their slots` }
}

/** End of each unit, from the results of the commands. */
const listOutcomes = (
  { plan }: StartedFormation,
  commands: readonly CommandRecord[],
): UnitOutcome[] => {
  const distances = new Map(
    commands
      .filter(({ state }) => isFinalCommandState(state))
      .flatMap(({ result }) => FormationResult.safeParse(result).data?.units ?? [])
      .map(({ device_id, distance_m }) => [device_id, distance_m]),
  )
  return plan.units.map(({ device_id, cell_id }) => {
    const distance_m = distances.get(device_id) ?? null
    return {
      device_id,
      cell_id,
      distance_m,
      reached: distance_m !== null && distance_m <= plan.position_m,
    }
  })
}
