import { ShoalError } from '../../../shared/errors.ts'
import { type Hazard, MAX_WAITING_PER_LANE, type VerbFacts } from '../../../shared/wire/command.ts'
import { laneOf } from './command.ts'
import { type CommandRequest, requireCapable, requireSignable } from './command-request.ts'
import type { FindVerbs } from './find-verbs.ts'
import type { OpenCommands } from './open-commands.ts'
import { isUrgent } from './urgent.ts'

/** Commands of one cell that have not ended; each of its lanes has its own bound below that. */
const MAX_OPEN = 1000

export interface CommandAdmissionParts {
  /** Verbs that a cell has announced, for itself or for one of its devices. */
  verbs: FindVerbs
  /** Capability level that a cell has announced. */
  capability: (cellId: string) => number
  /** Returns the e-stop that holds a device of a cell; without it none ever does. */
  findStop?: ((cellId: string, deviceId: string) => HoldingStop | undefined) | undefined
}

/** E-stop, as far as a refusal names it. */
interface HoldingStop {
  id: string
  reason: string
  /** Name of the device. */
  device: string
}

/** Facts about a command that are settled before it is created. */
export interface PreparedCommand {
  facts: VerbFacts
  hazard: Hazard
  level: number
}

/** Decides whether a command can be made for its cell. */
export class CommandAdmission {
  readonly #parts: CommandAdmissionParts
  readonly #open: Pick<OpenCommands, 'listByCell'>

  constructor(parts: CommandAdmissionParts, open: Pick<OpenCommands, 'listByCell'>) {
    this.#parts = parts
    this.#open = open
  }

  /** Throws the reason why the command cannot be created for its cell. */
  prepare(request: CommandRequest): PreparedCommand {
    const { cellId, deviceId, mode } = request
    const facts = this.#factsOf(request)
    requireSignable(request)
    const hazard = request.hazard ?? facts.hazard
    const level = this.#parts.capability(cellId)
    const device = deviceId === undefined ? {} : { device_id: deviceId }
    requireCapable({ cell_id: cellId, ...device, hazard, mode }, level)
    this.#requireRoom(request, facts)
    return { facts, hazard, level }
  }

  /** Throws `conflict` for a command that would act on a device that an e-stop holds. */
  requireReleased(request: CommandRequest, { facts, hazard }: PreparedCommand): void {
    const { cellId, deviceId, mode, verb } = request
    if (deviceId === undefined || mode === 'dry' || hazard === 'read' || facts.urgent) return
    const stop = this.#parts.findStop?.(cellId, deviceId)
    if (stop === undefined) return
    throw new ShoalError(
      'conflict',
      `e-stop ${stop.id} holds ${stop.device} (${stop.reason}): ${verb} is refused until it is released`,
      { reason: 'estop_holds', next: `shoal release ${stop.id}` },
    )
  }

  #factsOf({ cellId, deviceId, verb }: CommandRequest): VerbFacts {
    if (this.#parts.verbs(cellId) === undefined)
      throw new ShoalError('cell_unavailable', `${cellId} has not reported its capabilities`)
    const verbs = this.#parts.verbs(cellId, deviceId)
    if (verbs === undefined)
      throw new ShoalError(
        'invalid_request',
        `${cellId} has no device ${deviceId}; the list of devices names those of each cell`,
        { param: 'device_id' },
      )
    const facts = verbs.find(facts => facts.verb === verb)
    if (facts !== undefined) return facts
    const known = verbs.map(({ verb }) => verb).join(', ')
    throw new ShoalError(
      'invalid_request',
      `${deviceId ?? cellId} does not support the verb ${verb}; it supports ${known}`,
      { param: 'verb' },
    )
  }

  /**
   * Throws `rate_limited` when too many commands are open. Lanes are bounded separately, so that
   * one device cannot block the others; urgent commands are counted apart.
   */
  #requireRoom(request: CommandRequest, { urgent = false }: VerbFacts): void {
    const { verbs } = this.#parts
    const open = this.#open
      .listByCell(request.cellId)
      .filter(one => isUrgent(one, verbs) === urgent)
    const lane = laneOf(request)
    const inLane = open.filter(one => laneOf(one) === lane).length
    if (inLane < MAX_WAITING_PER_LANE && open.length < MAX_OPEN) return
    const whose = inLane < MAX_WAITING_PER_LANE ? request.cellId : lane.trim()
    const message = `${Math.max(inLane, open.length)} commands of ${whose} are open`
    throw new ShoalError('rate_limited', message, { retryAfterSeconds: 5 })
  }
}
