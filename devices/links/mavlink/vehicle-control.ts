import { EventEmitter, once } from 'node:events'
import { ShoalError } from '../../../shared/errors.ts'
import type { EstopBehaviour } from '../../../shared/wire/device.ts'
import type { AskedLog } from '../../asked-log.ts'
import type { ExecuteContext } from '../../device-link.ts'
import type { Json } from '../../profile.ts'
import { CommandExchange } from './command-exchange.ts'
import type { Frame } from './frame.ts'
import { hasArrived, measureDistance } from './goal.ts'
import { decodePayload } from './message.ts'
import { COMMAND_ACK, HEARTBEAT } from './messages.ts'
import type { CopterMode } from './names.ts'
import {
  createLandCommand,
  createModeCommand,
  type MavlinkGoal,
  type MavlinkOperation,
  type MavlinkTarget,
  nameCommand,
} from './operations.ts'
import type { Vehicle } from './vehicle.ts'

/** Wait for the acknowledgement of each attempt of a stop; three of them take less than 500 ms. */
const STOP_ACK_TIMEOUT_MS = 140

/** Mode in which a vehicle follows this cell; a pilot or a failsafe ends it. */
const GUIDED: CopterMode = 'guided'

interface ControlParts {
  vehicle: Vehicle
  name: string
  send: (operation: MavlinkOperation, attempt: number) => void
  /** Unix milliseconds. */
  now: () => number
}

interface ControlContext extends Pick<ExecuteContext, 'signal' | 'report'> {
  log: AskedLog
}

/** Controls one vehicle: the newest instruction replaces the one before. */
export class VehicleControl {
  readonly vehicle: Vehicle
  readonly #parts: ControlParts
  readonly #exchange: CommandExchange
  readonly #frames = new EventEmitter()
  #turn = new AbortController()
  /** Mode in which the vehicle carries out the newest instruction. */
  #mode: CopterMode = GUIDED
  /** True once the vehicle has reported that mode since the last acknowledged operation. */
  #wasFollowing = false

  constructor(parts: ControlParts) {
    this.vehicle = parts.vehicle
    this.#parts = parts
    this.#exchange = new CommandExchange(parts.send)
  }

  /** Takes a frame of the pinned sender. */
  take(frame: Frame, ownSystemId: number): void {
    this.vehicle.take(frame)
    if (frame.message?.id === HEARTBEAT.id && this.#isFollowing) this.#wasFollowing = true
    if (frame.message?.id === COMMAND_ACK.id) {
      const { command, result, target_system } = decodePayload(COMMAND_ACK, frame.payload)
      // MAVLink 1 does not carry the addressee
      if (target_system === 0 || target_system === ownSystemId)
        this.#exchange.acknowledge(command, result)
    }
    this.#frames.emit('frame')
  }

  /** Performs operations in order and waits for the goal; an abort on the way to it brakes. */
  async execute(
    operations: readonly MavlinkOperation[],
    goal: MavlinkGoal | undefined,
    { log, signal: aborted, report }: ControlContext,
  ): Promise<Json> {
    this.#requirePeer()
    const turn = this.#beginTurn()
    this.#mode = goal?.mode ?? GUIDED
    const signal = AbortSignal.any([aborted, turn.signal])
    try {
      for (const operation of operations) {
        await this.#perform(operation, log, { signal })
        // a heartbeat from before the acknowledgement has the mode from before
        this.#wasFollowing = false
      }
      if (goal !== undefined) await this.#reach(goal, signal, report)
      return this.#listValues()
    } catch (error) {
      if (aborted.aborted && goal !== undefined && this.#turn === turn)
        await this.stop('hold', log).catch(() => {})
      signal.throwIfAborted()
      throw error
    }
  }

  /**
   * Brakes, or lands. Power is never cut: that would be a fall.
   * @throws ShoalError
   */
  async stop(behaviour: EstopBehaviour, log: AskedLog): Promise<void> {
    if (behaviour === 'none') return
    this.#requirePeer()
    const { signal } = this.#beginTurn()
    const operation =
      behaviour === 'hold'
        ? createModeCommand(this.#target, 'brake')
        : createLandCommand(this.#target)
    await this.#perform(operation, log, { signal, timeoutMs: STOP_ACK_TIMEOUT_MS })
  }

  async #perform(
    operation: MavlinkOperation,
    log: AskedLog,
    options: Parameters<CommandExchange['perform']>[1],
  ): Promise<void> {
    await log.ask(nameCommand(operation.fields.command), async () => {
      await this.#exchange.perform(operation, options)
      return 'accepted'
    })
  }

  get #target(): MavlinkTarget {
    const { systemId, componentId } = this.vehicle.ids
    return { target_system: systemId, target_component: componentId }
  }

  get #isFollowing(): boolean {
    return this.vehicle.readings.mode?.value === this.#mode
  }

  #beginTurn(): AbortController {
    const reason = `${this.#parts.name} received a newer command before it had finished`
    this.#turn.abort(new ShoalError('conflict', reason))
    this.#turn = new AbortController()
    return this.#turn
  }

  /** A vehicle whose heartbeat is overdue may still receive: a stop is sent in any case. */
  #requirePeer(): void {
    if (this.vehicle.peer !== undefined) return
    throw new ShoalError('cell_unavailable', `${this.#parts.name} has never sent a heartbeat`)
  }

  async #reach(
    goal: MavlinkGoal,
    signal: AbortSignal,
    report: ExecuteContext['report'],
  ): Promise<void> {
    for (;;) {
      const { readings } = this.vehicle
      const distance_m = measureDistance(readings, goal, this.#parts.now())
      if (hasArrived(distance_m)) return
      if (this.#wasFollowing && !this.#isFollowing)
        throw new ShoalError(
          'conflict',
          `${this.#parts.name} was taken over: its mode is ${readings.mode?.value}`,
        )
      if (distance_m !== undefined) report({ message: `${Math.round(distance_m)} m to go` })
      await once(this.#frames, 'frame', { signal })
    }
  }

  #listValues(): Json {
    const readings = Object.entries(this.vehicle.readings)
    return Object.fromEntries(readings.map(([name, { value }]) => [name, value]))
  }
}
