import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import { type DeviceOutcome, NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { DeviceFailure, toDeviceFailure, UNCONFIRMED } from '../../device-failure.ts'
import type { ExecuteContext, Execution, StopContext } from '../../device-link.ts'
import type { DeviceProfile } from '../../profile.ts'
import { RestObserver } from '../../rest-observer.ts'
import { CommandExchange } from './command-exchange.ts'
import type { Frame } from './frame.ts'
import { FrameWaits } from './frame-waits.ts'
import type { MavlinkBounds } from './goal.ts'
import { decodePayload } from './message.ts'
import { COMMAND_ACK, HEARTBEAT, STATUSTEXT } from './messages.ts'
import type { ModeWatch } from './mode-watch.ts'
import { Motion, MotionEnd } from './motion.ts'
import {
  createArmCommand,
  createModeCommand,
  type MavlinkOperation,
  type MavlinkTarget,
} from './operations.ts'
import type { OverspeedLimits } from './overspeed.ts'
import { StatusTexts, WARNING } from './status-texts.ts'
import { traitsOf } from './traits.ts'
import type { Vehicle } from './vehicle.ts'
import { VehicleRun } from './vehicle-run.ts'

/** Wait for the autopilot's reason of a refusal, which it sends after the acknowledgement. */
const REASON_WAIT_MS = 800
/** Wait for a heartbeat that is asked for before a motion is braked. */
const BEAT_WAIT_MS = 1000
/** Wait for rest after a motion was braked: a copter brakes from 20 m/s in less. */
const REST_WAIT_MS = 12_000

interface ControlParts {
  deviceId: string
  vehicle: Vehicle
  name: string
  limits: OverspeedLimits
  profile: () => DeviceProfile
  readState: () => DeviceState
  send: (operation: MavlinkOperation, attempt: number) => void
  /** Asks for a heartbeat, which has the mode. */
  requestHeartbeat: () => void
  modes: ModeWatch
  /** Aborts when the link ends: nothing can be awaited then. */
  ended: AbortSignal
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** Controls one vehicle: the newest instruction replaces the one before. */
export class VehicleControl {
  readonly #parts: ControlParts
  readonly #exchange: CommandExchange
  readonly #frames = new FrameWaits()
  readonly #texts: StatusTexts
  readonly #modes: ModeWatch
  #run: VehicleRun | undefined

  constructor(parts: ControlParts) {
    const { vehicle, send, nowMs } = parts
    this.#parts = parts
    this.#exchange = new CommandExchange({ send, nowMs })
    this.#modes = parts.modes
    this.#texts = new StatusTexts(({ severity, text }) => {
      if (severity <= WARNING) vehicle.note('warning', text)
    })
  }

  /** Takes a frame of the pinned sender. */
  take(frame: Frame, ownSystemId: number): void {
    this.#parts.vehicle.take(frame)
    if (frame.message?.id === HEARTBEAT.id) this.#modes.noteHeartbeat()
    if (frame.message?.id === STATUSTEXT.id) this.#texts.take(frame, this.#parts.nowMs())
    if (frame.message?.id === COMMAND_ACK.id) this.#takeAck(frame, ownSystemId)
    this.#exchange.notice()
    this.#frames.notify()
  }

  /**
   * Performs operations in order and waits for the goal. What ends a motion before its goal brakes the
   * vehicle, except a newer instruction and a take-over.
   * @throws DeviceFailure with what was asked and observed
   */
  async execute(
    operations: readonly MavlinkOperation[],
    bounds: MavlinkBounds,
    { signal: aborted, report }: Pick<ExecuteContext, 'signal' | 'report'>,
  ): Promise<Execution> {
    requireSame(this.#parts.vehicle, bounds.vehicle, this.#parts.name)
    const run = this.#begin(bounds.goal?.kind === 'landed' ? 'land' : 'hold')
    const signal = AbortSignal.any([aborted, run.turn.signal, this.#parts.ended])
    try {
      for (const operation of operations)
        await run.performFirst([operation, ...(bounds.fallbacks ?? [])], bounds, signal)
      await this.#reach(bounds, run, signal, report)
      return conclude(run, bounds)
    } catch (error) {
      // an aborted motion is braked also before its last operation, whose effect may still come
      if (signal.aborted && run.hasAsked) run.mayMove ||= isMotion(bounds)
      throw await this.#fail(signal.aborted ? signal.reason : error, run, bounds)
    }
  }

  /**
   * Brings the vehicle to rest, or lands it: the first mode that it accepts and changes to. Power is
   * never cut: that would be a fall. Resolves when the mode is observed.
   * @throws DeviceFailure
   */
  async stop(
    behaviour: EstopBehaviour,
    { isRepeated = false, estopIds, report }: StopContext = {},
  ): Promise<DeviceOutcome> {
    if (behaviour === 'none') return NOTHING_SEEN
    // a first order does not wait for the disk
    const wasSent = isRepeated && (await this.#modes.hasSent(estopIds ?? []))
    const unneeded = wasSent ? this.#findUnneeded(behaviour) : undefined
    if (unneeded !== undefined) return unneeded
    // a vehicle without heartbeats so far gets the order later, whatever its mode was before
    if (!wasSent) this.#modes.begin(estopIds)
    const run = this.#beginStop(behaviour, estopIds)
    const signal = AbortSignal.any([run.turn.signal, this.#parts.ended])
    const undo = this.#frames.onFrame(() => report?.(run.look()))
    try {
      await this.#halt(behaviour, run, signal)
      return run.look()
    } catch (error) {
      const outcome = run.look()
      // one that rests with its motors on may move on
      if (outcome.seen.state === 'at_rest' && outcome.seen.values.is_armed === false) return outcome
      const { message } = error as Error
      throw new DeviceFailure(UNCONFIRMED, message, outcome, { cause: error })
    } finally {
      undo()
    }
  }

  #takeAck({ payload }: Frame, ownSystemId: number): void {
    const { command, result, target_system } = decodePayload(COMMAND_ACK, payload)
    // MAVLink 1 does not carry the addressee
    if (target_system === 0 || target_system === ownSystemId)
      this.#exchange.acknowledge(command, result)
  }

  /**
   * Outcome of a repeated stop that is not sent, since the motors are off.
   * @throws DeviceFailure for a vehicle that a pilot has taken over, which is left alone
   */
  #findUnneeded(behaviour: EstopBehaviour): DeviceOutcome | undefined {
    const { isAvailable, readings } = this.#parts.vehicle
    if (this.#modes.isTakenOver) throw (this.#run ?? this.#createRun(behaviour)).createTakenOver()
    const isOff = isAvailable && readings.is_armed?.value === false
    return isOff ? { ...NOTHING_SEEN, seen: this.#createObserver(behaviour).look() } : undefined
  }

  #begin(behaviour: EstopBehaviour, estopIds?: readonly string[]): VehicleRun {
    const run = this.#createRun(behaviour)
    this.#modes.begin(estopIds)
    const reason = `${this.#parts.name} received a newer command before it had finished`
    this.#run?.turn.abort(new ShoalError('conflict', reason))
    this.#run = run
    return run
  }

  #createRun(behaviour: EstopBehaviour): VehicleRun {
    const { name, vehicle, nowMs } = this.#parts
    const { kind, peer } = vehicle
    // a vehicle whose heartbeat is overdue may still receive: a stop is sent in any case
    if (peer === undefined)
      throw new ShoalError('cell_unavailable', `${name} has never sent a heartbeat`)
    if (kind === undefined)
      throw new ShoalError('conflict', `${name} is of a kind that can only be read`)
    const observer = this.#createObserver(behaviour)
    const tools = { exchange: this.#exchange, modes: this.#modes, texts: this.#texts }
    return new VehicleRun({ name, vehicle, kind, observer, nowMs, ...tools })
  }

  /** @throws DeviceFailure where nothing can be sent */
  #beginStop(behaviour: EstopBehaviour, estopIds: StopContext['estopIds']): VehicleRun {
    try {
      return this.#begin(behaviour, estopIds)
    } catch (error) {
      throw toDeviceFailure(error, NOTHING_SEEN)
    }
  }

  #createObserver(behaviour: EstopBehaviour): RestObserver {
    const { deviceId, profile, readState, now } = this.#parts
    return new RestObserver({ deviceId, profile: profile(), behaviour, readState, now })
  }

  /** Waits for the goal of a plan. */
  async #reach(
    { goal, motion }: MavlinkBounds,
    { observer }: VehicleRun,
    signal: AbortSignal,
    report: ExecuteContext['report'],
  ): Promise<void> {
    if (goal === undefined) return
    const { vehicle, name, limits, now, nowMs } = this.#parts
    const approved_m_s = motion?.max_speed_m_s
    const parts = { vehicle, name, modes: this.#modes, observer, goal, approved_m_s, limits }
    const watch = new Motion({ ...parts, since: now(), nowMs, report })
    while (!watch.hasArrived()) await this.#frames.next(signal)
  }

  async #fail(error: unknown, run: VehicleRun, bounds: MavlinkBounds): Promise<DeviceFailure> {
    if (run.mayMove && this.#modes.isTakenOver) return run.createTakenOver()
    const isOwnTurn = this.#run === run
    if (run.mayMove && isOwnTurn) await this.#brake(run)
    else if (isOwnTurn) await this.#awaitReason(run)
    const outcome = run.look()
    const { message } = error as Error
    if (bounds.is_halt === true && isTimeout(error))
      return new DeviceFailure(UNCONFIRMED, message, outcome, { cause: error })
    if (error instanceof MotionEnd)
      return new DeviceFailure(error.reason, message, outcome, { cause: error })
    return toDeviceFailure(run.addReason(error), outcome)
  }

  /** Brakes what is under way, unless somebody else has taken the vehicle over. */
  async #brake(run: VehicleRun): Promise<void> {
    const { vehicle } = this.#parts
    const signal = AbortSignal.any([run.turn.signal, this.#parts.ended])
    await this.#awaitBeat(signal)
    if (this.#modes.isTakenOver || run.turn.signal.aborted) return
    run.observer = this.#createObserver('hold')
    run.mayMove = false
    const isHalted = await this.#halt('hold', run, signal).then(
      () => true,
      () => false,
    )
    const isAtRest = () => run.look().seen.state === 'at_rest'
    if (isHalted) await this.#frames.until(isAtRest, REST_WAIT_MS, signal)
    // a take-off that failed leaves nothing armed; in flight the autopilot refuses it
    if (run.hasArmed && vehicle.readings.landed_state?.value === 'on_ground')
      await run.performFirst([createArmCommand(this.#target, false)], {}, signal).catch(() => {})
  }

  async #halt(behaviour: EstopBehaviour, run: VehicleRun, signal: AbortSignal): Promise<void> {
    const { ended, send } = this.#parts
    const { hold, land } = traitsOf(run.kind)
    const target = { ...this.#target, kind: run.kind }
    const modes = behaviour === 'land' && land.length > 0 ? land : hold
    const rungs = modes.map(mode => createModeCommand(target, mode))
    const [first] = rungs
    // nothing can be awaited from a link that has ended
    if (ended.aborted && first !== undefined) send(first, 0)
    else await run.performFirst(rungs, {}, signal)
  }

  get #target(): MavlinkTarget {
    const { systemId, componentId } = this.#parts.vehicle.ids
    return { target_system: systemId, target_component: componentId }
  }

  /** Waits for a heartbeat that is asked for now. */
  async #awaitBeat(signal: AbortSignal): Promise<void> {
    const { vehicle, nowMs, requestHeartbeat } = this.#parts
    const askedMs = nowMs()
    requestHeartbeat()
    await this.#frames.until(() => (vehicle.heartbeatAtMs ?? 0) > askedMs, BEAT_WAIT_MS, signal)
  }

  /** Waits for what the autopilot says about a refusal. */
  async #awaitReason(run: VehicleRun): Promise<void> {
    const signal = AbortSignal.any([run.turn.signal, this.#parts.ended])
    await this.#frames.until(() => run.listTexts().length > 0, REASON_WAIT_MS, signal)
  }
}

const conclude = (run: VehicleRun, { goal }: MavlinkBounds): Execution => {
  const { asked, seen } = run.look()
  const state = goal?.kind === 'rest' || goal?.kind === 'landed' ? 'at_rest' : 'reached'
  return { asked, seen: { ...seen, state } }
}

const isMotion = ({ goal, is_halt }: MavlinkBounds): boolean =>
  goal !== undefined && is_halt !== true

const isTimeout = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'request_timeout'

/** @throws ShoalError conflict when another vehicle answers than the one of the plan */
const requireSame = (
  { readings }: Vehicle,
  { autopilot, vehicle_type }: MavlinkBounds['vehicle'],
  name: string,
): void => {
  const type = readings.vehicle_type?.value
  if (readings.autopilot?.value === autopilot && type === vehicle_type) return
  const message = `${name} is now a ${type}, and the plan is for a ${vehicle_type}`
  throw new ShoalError('conflict', message)
}
