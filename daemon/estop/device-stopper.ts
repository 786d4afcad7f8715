import type { Logger } from 'pino'
import { DeviceFailure, TAKEN_OVER } from '../../devices/device-failure.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { EstopBehaviour } from '../../shared/wire/device.ts'
import {
  type DeviceOutcome,
  isConfirmed,
  limitOutcome,
  NOTHING_SEEN,
  type Seen,
} from '../../shared/wire/device-outcome.ts'
import type { StoppableDevice, StoppableDevices } from './stoppable-devices.ts'

interface DeviceStopperParts {
  devices: StoppableDevices
  isCovered: (device: StoppableDevice) => boolean
  /** True for a device whose stops are all of an earlier run of the daemon, which may have sent them. */
  mayBeOrdered?: (device: StoppableDevice) => boolean
  /** Ids of the e-stops that cover a device. */
  listEstopIds?: (device: StoppableDevice) => string[]
  /** Runs when a device has acknowledged, failed or come to rest. */
  onChange?: () => void
  logger: Pick<Logger, 'warn'>
  wait?: Wait
  /** Monotonic clock, in milliseconds. */
  nowMs?: () => number
}

/** Time for a device to acknowledge before it counts as failed; a later answer still counts. */
const ACKNOWLEDGE_MS = 500
/** Time for a device that has acknowledged to brake before the order is repeated. */
const BRAKE_MS = 10_000
/** Longest reason of a failure: all of them must fit into one report. */
const MAX_REASON = 120

/** Stop of one device. */
interface StopState {
  /** Behaviour that the device was ordered; a repetition orders the same. */
  behaviour: EstopBehaviour
  outcome: DeviceOutcome
  /** Observes the device; undefined for one that does not show whether it rests. */
  observe: (() => Seen) | undefined
  isPending: boolean
  isAtRest: boolean
  isTakenOver: boolean
  /** Reason why the device has not acknowledged the stop. */
  failure: string | undefined
  orderedAtMs: number
}

/** Response of an e-stop to a device: the operations asked and the state observed. */
export interface StopResponse {
  behaviour: EstopBehaviour
  outcome: DeviceOutcome
}

/**
 * Brings every covered device to rest, all at the same time. A device has confirmed when it was seen
 * at rest; one that does not show that has confirmed when it has acknowledged.
 */
export class DeviceStopper {
  readonly #parts: DeviceStopperParts
  readonly #states = new Map<string, StopState>()
  /** Ids of the covered devices that were available at the last look. */
  #reached: ReadonlySet<string> = new Set()

  constructor(parts: DeviceStopperParts) {
    this.#parts = parts
  }

  /** Sends the stop to every covered device. Resolves when each has acknowledged or failed. */
  async stopAll(): Promise<void> {
    await this.#stopEach(this.#look().covered)
  }

  /** Repeats the stop of devices that have failed, and stops those that have returned. */
  async retry(): Promise<void> {
    const { covered, returned } = this.#look()
    const ids = new Set(covered.map(({ deviceId }) => deviceId))
    for (const id of this.#states.keys()) if (!ids.has(id)) this.#states.delete(id)
    this.observe()
    await this.#stopEach(
      covered.filter(device => returned.includes(device) || this.#isDue(device.deviceId)),
    )
  }

  /**
   * Stops the covered devices that have returned since the last look, and tells whether there were
   * some: a device that was away may have begun to move, such as after a restart.
   */
  async stopReturned(): Promise<boolean> {
    const { returned } = this.#look()
    await this.#stopEach(returned)
    return returned.length > 0
  }

  /**
   * Looks whether devices that were told to stop are at rest now; true when some have come to it, or
   * move again.
   */
  observe(): boolean {
    const states = [...this.#states.values()]
    const restless = states.filter(state => state.isAtRest && this.#noteMotion(state))
    const moving = states.filter(state => !state.isAtRest && !restless.includes(state))
    for (const state of moving) this.#observeOne(state)
    return restless.length > 0 || moving.some(({ isAtRest }) => isAtRest)
  }

  /** Reason why a covered device is not known to be at rest; undefined when it is. */
  findFailure(deviceId: string): string | undefined {
    const state = this.#states.get(deviceId)
    if (state === undefined) return 'it has not confirmed the stop yet'
    return state.isAtRest ? undefined : describeState(state).slice(0, MAX_REASON).toWellFormed()
  }

  /** Finds the operations asked of a device and the state observed; undefined before the first order. */
  findResponse(deviceId: string): StopResponse | undefined {
    const state = this.#states.get(deviceId)
    return state && { behaviour: state.behaviour, outcome: state.outcome }
  }

  #look(): { covered: StoppableDevice[]; returned: StoppableDevice[] } {
    const { devices, isCovered } = this.#parts
    const covered = devices.listDevices().filter(isCovered)
    const reached = covered.filter(({ isAvailable }) => isAvailable)
    const returned = reached.filter(({ deviceId }) => !this.#reached.has(deviceId))
    this.#reached = new Set(reached.map(({ deviceId }) => deviceId))
    return { covered, returned }
  }

  #observeOne(state: StopState): void {
    const seen = state.observe?.()
    if (seen === undefined || seen.at === null) return
    state.outcome = { ...state.outcome, seen }
    state.isAtRest = isConfirmed(seen)
  }

  /** A device that moves again is told again: it may have rested only for a moment, on its way. */
  #noteMotion(state: StopState): boolean {
    const seen = state.observe?.()
    if (seen?.state !== 'moving' || state.isPending) return false
    state.outcome = { ...state.outcome, seen }
    state.isAtRest = false
    state.failure = 'it moves again'
    return true
  }

  /** A landing that was acknowledged is not begun again. */
  #isDue(deviceId: string): boolean {
    const state = this.#states.get(deviceId)
    if (state === undefined) return true
    if (state.isAtRest || state.isPending || state.isTakenOver) return false
    if (state.failure !== undefined) return true
    return state.behaviour !== 'land' && this.#nowMs() - state.orderedAtMs >= BRAKE_MS
  }

  /** One time limit serves all devices, because all of them are stopped at once. */
  async #stopEach(devices: readonly StoppableDevice[]): Promise<void> {
    if (devices.length === 0) return
    const over = new AbortController()
    const late = (this.#parts.wait ?? realWait)(ACKNOWLEDGE_MS, over.signal)
    await Promise.all(devices.map(device => this.#stop(device, late)))
    over.abort()
  }

  async #stop(device: StoppableDevice, late: Promise<void>): Promise<void> {
    const { deviceId, atEstop } = device
    const { devices, mayBeOrdered = () => false, listEstopIds = () => [] } = this.#parts
    const before = this.#states.get(deviceId)
    const behaviour = before?.behaviour ?? atEstop
    const state: StopState = {
      behaviour,
      outcome: NOTHING_SEEN,
      observe: devices.createObserver?.(deviceId, behaviour),
      isPending: true,
      isAtRest: false,
      isTakenOver: false,
      failure: undefined,
      orderedAtMs: this.#nowMs(),
    }
    this.#states.set(deviceId, state)
    const isRepeated = before !== undefined || mayBeOrdered(device)
    const estopIds = listEstopIds(device)
    const report = (outcome: DeviceOutcome): void => {
      state.outcome = limitOutcome(outcome)
    }
    const answered = devices.stopDevice(deviceId, behaviour, { isRepeated, estopIds, report }).then(
      outcome => this.#acknowledge(deviceId, state, outcome),
      (error: Error) => this.#fail(deviceId, state, error),
    )
    const isAnswered = await Promise.race([answered.then(() => true), late.then(() => false)])
    if (isAnswered || !state.isPending) return
    state.isPending = false
    state.failure = `it did not acknowledge the stop within ${ACKNOWLEDGE_MS} ms`
    this.#warn(deviceId, state)
  }

  #acknowledge(deviceId: string, state: StopState, outcome: DeviceOutcome | undefined): void {
    state.isPending = false
    state.failure = undefined
    if (outcome !== undefined) state.outcome = limitOutcome(outcome)
    state.isAtRest = isConfirmed(state.outcome.seen) || state.observe === undefined
    if (!state.isAtRest) this.#observeOne(state)
    // a newer stop of the same device reports for itself
    if (this.#states.get(deviceId) === state) this.#parts.onChange?.()
  }

  #fail(deviceId: string, state: StopState, error: Error): void {
    state.isPending = false
    state.failure = error.message
    if (error instanceof DeviceFailure) {
      state.outcome = limitOutcome(error.outcome)
      state.isTakenOver = error.reason === TAKEN_OVER
    }
    this.#observeOne(state)
    if (this.#states.get(deviceId) !== state) return
    if (!state.isAtRest) this.#warn(deviceId, state)
    this.#parts.onChange?.()
  }

  #warn(deviceId: string, state: StopState): void {
    const reason = describeState(state).slice(0, MAX_REASON).toWellFormed()
    this.#parts.logger.warn({ device: deviceId, reason }, 'a device did not confirm the e-stop')
  }

  #nowMs(): number {
    return (this.#parts.nowMs ?? (() => performance.now()))()
  }
}

/** State of a device that is not known to be at rest, for people. */
const describeState = ({ isPending, failure, behaviour, outcome }: StopState): string => {
  if (failure !== undefined) return failure
  if (isPending) return 'it has not confirmed the stop yet'
  const { state, values } = outcome.seen
  const speed = typeof values.speed_m_s === 'number' ? ` at ${values.speed_m_s.toFixed(1)} m/s` : ''
  const seen = state === 'moving' ? `moving${speed}` : 'not seen at rest'
  return behaviour === 'land'
    ? `it is landing, ${seen}`
    : `it has acknowledged the stop and is ${seen}`
}
