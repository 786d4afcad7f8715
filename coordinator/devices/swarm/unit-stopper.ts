import type { Logger } from 'pino'
import type { Commands } from '../../fleet/control/commands.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Devices } from '../inventory/devices.ts'
import type { StartedFormation, UnitOutcome } from './formation.table.ts'

interface UnitStopperParts {
  commands: Pick<Commands, 'create'>
  devices: Pick<Devices, 'get' | 'profile'>
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

/** Urgent verbs that bring a unit to rest, the mildest first. */
const HALT_VERBS = ['hold', 'stop', 'land']
const HALT_SECONDS = 30
/** Time after which units that have not come to rest are stopped again, in milliseconds. */
const STOP_AGAIN_MS = 3000

/** Stops the units of formations by urgent commands, which need no approval and pass every queue. */
export class UnitStopper {
  readonly #parts: UnitStopperParts
  /** Time of the last stop of each formation by this coordinator. */
  readonly #stoppedAt = new Map<string, number>()

  constructor(parts: UnitStopperParts) {
    this.#parts = parts
  }

  /** True when the last stop is so long ago that units which still move need another one. */
  isDue({ id, changedAt }: StartedFormation): boolean {
    return this.#parts.now() - (this.#stoppedAt.get(id) ?? changedAt) > STOP_AGAIN_MS
  }

  /** Forgets the formations that are not open any more. */
  keep(open: readonly StartedFormation[]): void {
    for (const id of this.#stoppedAt.keys())
      if (!open.some(one => one.id === id)) this.#stoppedAt.delete(id)
  }

  /** Stops every unit, one of each cell first: a unit that is stopped ends the part of its cell. */
  async stopAll(formation: StartedFormation, by: Actor): Promise<void> {
    const { logger, now } = this.#parts
    this.#stoppedAt.set(formation.id, now())
    const firsts = new Set<string>()
    const units = formation.plan.units
      .map(unit => ({ unit, isFirst: firsts.size < firsts.add(unit.cell_id).size }))
      .sort((a, b) => Number(b.isFirst) - Number(a.isFirst))
    const stopped = await Promise.allSettled(units.map(({ unit }) => this.#stop(unit, by)))
    for (const one of stopped)
      if (one.status === 'rejected')
        logger.warn({ formation: formation.id, err: one.reason }, 'a unit was not stopped')
  }

  async #stop(
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
}
