import { EventEmitter, once } from 'node:events'
import { ShoalError } from '../../../shared/errors.ts'
import { wait } from '../../../shared/wait.ts'
import type { EstopBehaviour } from '../../../shared/wire/device.ts'
import { type DeviceOutcome, NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { AskedLog } from '../../asked-log.ts'
import { DeviceFailure, toDeviceFailure, UNCONFIRMED } from '../../device-failure.ts'
import type { ExecuteContext, Execution, StopContext } from '../../device-link.ts'
import type { DeviceProfile } from '../../profile.ts'
import { RestObserver } from '../../rest-observer.ts'
import { CommandExchange } from './command-exchange.ts'
import { adaptOperation, nameOperation, observeEffect, startsMotion } from './effects.ts'
import type { Frame } from './frame.ts'
import type { MavlinkBounds } from './goal.ts'
import { decodePayload } from './message.ts'
import { COMMAND_ACK, HEARTBEAT, STATUSTEXT } from './messages.ts'
import { ModeWatch } from './mode-watch.ts'
import { nameKnownMode } from './modes.ts'
import { Motion } from './motion.ts'
import { createModeCommand, type MavlinkOperation, modeOf } from './operations.ts'
import type { OverspeedLimits } from './overspeed.ts'
import { StatusTexts, WARNING } from './status-texts.ts'
import { traitsOf } from './traits.ts'
import type { Vehicle } from './vehicle.ts'
import type { VehicleKind } from './vehicle-kind.ts'

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
  send: (operation: MavlinkOperation, attempt: number) => void
  /** Asks for a heartbeat, which has the mode. */
  requestHeartbeat: () => void
  /** Aborts when the link ends: nothing can be awaited then. */
  ended: AbortSignal
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** One instruction on its way: what was asked, and what is observed since. */
interface Run {
  turn: AbortController
  kind: VehicleKind
  log: AskedLog
  observer: RestObserver
  /** Monotonic time of its begin, in milliseconds. */
  beganMs: number
  /** True once something was sent that can move the vehicle. */
  mayMove: boolean
}

/** Controls one vehicle: the newest instruction replaces the one before. */
export class VehicleControl {
  readonly vehicle: Vehicle
  readonly #parts: ControlParts
  readonly #exchange: CommandExchange
  readonly #frames = new EventEmitter()
  readonly #texts: StatusTexts
  readonly #modes: ModeWatch
  #turn = new AbortController()

  constructor(parts: ControlParts) {
    const { vehicle, send, nowMs } = parts
    this.vehicle = vehicle
    this.#parts = parts
    this.#exchange = new CommandExchange({ send, nowMs })
    this.#modes = new ModeWatch(vehicle)
    this.#texts = new StatusTexts(({ severity, text }) => {
      if (severity <= WARNING) vehicle.note('warning', text)
    })
    // several waits at a time are usual
    this.#frames.setMaxListeners(0)
  }

  /** Takes a frame of the pinned sender. */
  take(frame: Frame, ownSystemId: number): void {
    this.vehicle.take(frame)
    if (frame.message?.id === HEARTBEAT.id) this.#modes.noteHeartbeat()
    if (frame.message?.id === STATUSTEXT.id) this.#texts.take(frame, this.#parts.nowMs())
    if (frame.message?.id === COMMAND_ACK.id) this.#takeAck(frame, ownSystemId)
    this.#exchange.notice()
    this.#frames.emit('frame')
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
    requireSame(this.vehicle, bounds.vehicle, this.#parts.name)
    const run = this.#begin(bounds.goal?.kind === 'landed' ? 'land' : 'hold')
    const signal = AbortSignal.any([aborted, run.turn.signal, this.#parts.ended])
    try {
      for (const operation of operations)
        await this.#performFirst([operation, ...(bounds.fallbacks ?? [])], run, bounds, signal)
      if (bounds.goal !== undefined)
        await this.#reach({ ...bounds, goal: bounds.goal }, run, signal, report)
      return this.#conclude(run, bounds)
    } catch (error) {
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
    { isRepeated = false, report }: StopContext = {},
  ): Promise<DeviceOutcome> {
    if (behaviour === 'none') return NOTHING_SEEN
    const isLeftAlone = isRepeated && this.#modes.isTakenOver
    const run = this.#beginStop(behaviour)
    if (isLeftAlone) throw this.#createTakenOver(run)
    const look = (): DeviceOutcome => this.#look(run)
    const signal = AbortSignal.any([run.turn.signal, this.#parts.ended])
    const undo = this.#onFrame(() => report?.(look()))
    try {
      await this.#halt(behaviour, run, signal)
      return look()
    } catch (error) {
      const outcome = look()
      if (outcome.seen.state === 'at_rest') return outcome
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

  #begin(behaviour: EstopBehaviour): Run {
    const { name, nowMs } = this.#parts
    const { vehicle } = this
    // a vehicle whose heartbeat is overdue may still receive: a stop is sent in any case
    if (vehicle.peer === undefined)
      throw new ShoalError('cell_unavailable', `${name} has never sent a heartbeat`)
    if (vehicle.kind === undefined)
      throw new ShoalError('conflict', `${name} is of a kind that can only be read`)
    const reason = `${name} received a newer command before it had finished`
    this.#turn.abort(new ShoalError('conflict', reason))
    this.#turn = new AbortController()
    return {
      turn: this.#turn,
      kind: vehicle.kind,
      log: new AskedLog(),
      observer: this.#createObserver(behaviour),
      beganMs: nowMs(),
      mayMove: false,
    }
  }

  /** @throws DeviceFailure where nothing can be sent */
  #beginStop(behaviour: EstopBehaviour): Run {
    try {
      return this.#begin(behaviour)
    } catch (error) {
      throw toDeviceFailure(error, NOTHING_SEEN)
    }
  }

  #createObserver(behaviour: EstopBehaviour): RestObserver {
    const { deviceId, profile, now } = this.#parts
    const readState = () => {
      const { seenAt: seen_at, readings } = this.vehicle
      return { device_id: deviceId, seen_at, readings }
    }
    return new RestObserver({ deviceId, profile: profile(), behaviour, readState, now })
  }

  /** Performs the first operation that the vehicle accepts and that has its effect. */
  async #performFirst(
    operations: readonly MavlinkOperation[],
    run: Run,
    bounds: Pick<MavlinkBounds, 'modes' | 'goal' | 'is_halt'>,
    signal: AbortSignal,
  ): Promise<void> {
    for (const [index, operation] of operations.entries())
      try {
        await this.#perform(operation, run, bounds, signal)
        return
      } catch (error) {
        const isRefused = error instanceof ShoalError && error.code === 'conflict'
        if (signal.aborted || !isRefused || index === operations.length - 1) throw error
      }
  }

  async #perform(
    operation: MavlinkOperation,
    run: Run,
    bounds: Pick<MavlinkBounds, 'modes' | 'goal' | 'is_halt'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { modes } = bounds
    const { name } = this.#parts
    const launchAltitude_m = this.vehicle.readings.launch_altitude_amsl_m?.value
    const adapted = adaptOperation(operation, run.kind, launchAltitude_m)
    if (adapted === undefined)
      throw new ShoalError('conflict', `${name} has not reported the altitude of its launch`)
    if (this.#modes.isTakenOver && run.mayMove)
      throw new ShoalError('conflict', `${name} was taken over`)
    const mode = modeOf(operation, run.kind)
    const own = mode === undefined ? undefined : nameKnownMode(run.kind, mode)
    if (own !== undefined) this.#modes.expect(modes?.includes(own) ? modes : [own])
    else if (modes !== undefined && !run.mayMove && run.kind.autopilot === 'px4')
      this.#modes.expect(modes)
    run.mayMove ||= startsMotion(operation, bounds)
    const effect = observeEffect(adapted, this.vehicle, run.kind)
    await run.log.ask(nameOperation(operation, run.kind), () =>
      this.#exchange.perform(adapted, { signal, ...effect }),
    )
  }

  async #reach(
    { goal, motion }: MavlinkBounds & { goal: NonNullable<MavlinkBounds['goal']> },
    { observer }: Run,
    signal: AbortSignal,
    report: ExecuteContext['report'],
  ): Promise<void> {
    const { name, limits, now, nowMs } = this.#parts
    const { vehicle } = this
    const approved_m_s = motion?.max_speed_m_s
    const parts = { vehicle, name, modes: this.#modes, observer, goal, approved_m_s, limits }
    const watch = new Motion({ ...parts, since: now(), nowMs, report })
    while (!watch.hasArrived()) await once(this.#frames, 'frame', { signal })
  }

  #conclude(run: Run, { goal }: MavlinkBounds): Execution {
    const { asked, seen } = this.#look(run)
    const state = goal?.kind === 'rest' || goal?.kind === 'landed' ? 'at_rest' : 'reached'
    return { asked, seen: { ...seen, state } }
  }

  async #fail(error: unknown, run: Run, bounds: MavlinkBounds): Promise<DeviceFailure> {
    if (run.mayMove && this.#modes.isTakenOver) return this.#createTakenOver(run)
    const isOwnTurn = this.#turn === run.turn && !run.turn.signal.aborted
    if (run.mayMove && isOwnTurn && bounds.is_halt !== true) await this.#brake(run)
    else if (isOwnTurn) await this.#awaitReason(run)
    return toDeviceFailure(this.#addReason(error, run), this.#look(run))
  }

  #createTakenOver(run: Run): DeviceFailure {
    const mode = this.vehicle.readings.mode?.value
    const message = `${this.#parts.name} was taken over: its mode is ${mode}`
    return new DeviceFailure('taken_over', message, this.#look(run))
  }

  #look({ log, observer, beganMs }: Run): DeviceOutcome {
    const seen = observer.look()
    return { asked: log.asked, seen: { ...seen, values: this.#addTexts(seen.values, beganMs) } }
  }

  /** Brakes what is under way, unless somebody else has taken the vehicle over. */
  async #brake(run: Run): Promise<void> {
    const signal = AbortSignal.any([run.turn.signal, this.#parts.ended])
    await this.#awaitBeat(signal)
    if (this.#modes.isTakenOver || run.turn.signal.aborted) return
    run.observer = this.#createObserver('hold')
    await this.#halt('hold', run, signal).catch(() => {})
    await this.#until(() => run.observer.look().state === 'at_rest', REST_WAIT_MS, signal)
  }

  async #halt(behaviour: EstopBehaviour, run: Run, signal: AbortSignal): Promise<void> {
    const { hold, land } = traitsOf(run.kind)
    const { systemId, componentId } = this.vehicle.ids
    const target = { target_system: systemId, target_component: componentId, kind: run.kind }
    const modes = behaviour === 'land' && land.length > 0 ? land : hold
    const rungs = modes.map(mode => createModeCommand(target, mode))
    const [first] = rungs
    // nothing can be awaited from a link that has ended
    if (this.#parts.ended.aborted && first !== undefined) this.#parts.send(first, 0)
    else await this.#performFirst(rungs, { ...run, mayMove: false }, {}, signal)
  }

  /** Waits for a heartbeat that is asked for now. */
  async #awaitBeat(signal: AbortSignal): Promise<void> {
    const askedMs = this.#parts.nowMs()
    this.#parts.requestHeartbeat()
    await this.#until(() => (this.vehicle.heartbeatAtMs ?? 0) > askedMs, BEAT_WAIT_MS, signal)
  }

  /** Waits for what the autopilot says about a refusal. */
  async #awaitReason(run: Run): Promise<void> {
    const signal = AbortSignal.any([run.turn.signal, this.#parts.ended])
    await this.#until(() => this.#listTexts(run.beganMs).length > 0, REASON_WAIT_MS, signal)
  }

  /** Waits until something holds after a frame, or the time is over. */
  async #until(holds: () => boolean, timeout_ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    const undo = this.#onFrame(() => {
      if (holds()) over.abort()
    })
    if (!holds()) await wait(timeout_ms, AbortSignal.any([over.signal, signal]))
    undo()
  }

  #onFrame(listener: () => void): () => void {
    this.#frames.on('frame', listener)
    return () => void this.#frames.off('frame', listener)
  }

  #listTexts(sinceMs: number): string[] {
    const texts = this.#texts.listSince(sinceMs, this.#parts.nowMs())
    return texts.filter(({ severity }) => severity <= WARNING).map(({ text }) => text)
  }

  /** Adds what the autopilot has said since the begin of a run. */
  #addTexts(values: DeviceOutcome['seen']['values'], sinceMs: number): typeof values {
    const texts = this.#listTexts(sinceMs)
    const { is_taken_over } = this.vehicle.readings
    return {
      ...values,
      ...(is_taken_over?.value === true && { is_taken_over: true }),
      ...(texts.length > 0 && { autopilot_texts: texts.slice(-5) }),
    }
  }

  #addReason(error: unknown, { beganMs }: Run): unknown {
    const texts = this.#listTexts(beganMs)
    if (!(error instanceof ShoalError) || error.code !== 'conflict' || texts.length === 0)
      return error
    const message = `${error.message} (${texts.slice(-5).join('; ')})`
    return new ShoalError(error.code, message, { cause: error })
  }
}

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
