import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { StoppableDevice, StoppableDevices } from './stoppable-devices.ts'

interface DeviceStopperParts {
  devices: StoppableDevices
  isCovered: (device: StoppableDevice) => boolean
  logger: Pick<Logger, 'warn'>
  wait?: Wait
}

/** Time for a device to confirm that it is at rest, in milliseconds. */
const CONFIRM_MS = 500
/** Longest reason of a failure: all of them must fit into one report. */
const MAX_REASON = 120
/** Reason while the time to confirm is not over. */
const PENDING = 'it has not confirmed the stop yet'

/** Stop of one device: at rest, or the reason why that is not known. */
type StopState = { isAtRest: true } | { isAtRest: false; isPending: boolean; reason: string }

/** Brings every covered device to rest, all at the same time, and remembers which ones failed. */
export class DeviceStopper {
  readonly #parts: DeviceStopperParts
  readonly #states = new Map<string, StopState>()
  /** Ids of the covered devices that were available at the last look. */
  #reached: ReadonlySet<string> = new Set()

  constructor(parts: DeviceStopperParts) {
    this.#parts = parts
  }

  /** Sends the stop to every covered device. Resolves when each has confirmed or failed. */
  async stopAll(): Promise<void> {
    await this.#stopEach(this.#look().covered)
  }

  /** Repeats the stop of devices that have failed, and stops those that have returned. */
  async retry(): Promise<void> {
    const { covered, returned } = this.#look()
    const ids = new Set(covered.map(({ deviceId }) => deviceId))
    for (const id of this.#states.keys()) if (!ids.has(id)) this.#states.delete(id)
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

  /** Reason why a covered device is not known to be at rest; undefined when it is. */
  findFailure(deviceId: string): string | undefined {
    const state = this.#states.get(deviceId)
    if (state === undefined) return PENDING
    return state.isAtRest ? undefined : state.reason
  }

  #look(): { covered: StoppableDevice[]; returned: StoppableDevice[] } {
    const { devices, isCovered } = this.#parts
    const covered = devices.listDevices().filter(isCovered)
    const reached = covered.filter(({ isAvailable }) => isAvailable)
    const returned = reached.filter(({ deviceId }) => !this.#reached.has(deviceId))
    this.#reached = new Set(reached.map(({ deviceId }) => deviceId))
    return { covered, returned }
  }

  #isDue(deviceId: string): boolean {
    const state = this.#states.get(deviceId)
    return state === undefined || (!state.isAtRest && !state.isPending)
  }

  /** One time limit serves all devices, because all of them are stopped at once. */
  async #stopEach(devices: readonly StoppableDevice[]): Promise<void> {
    if (devices.length === 0) return
    const over = new AbortController()
    const late = (this.#parts.wait ?? realWait)(CONFIRM_MS, over.signal).then(() => {
      throw new Error(`it did not confirm the stop within ${CONFIRM_MS} ms`)
    })
    late.catch(() => {})
    await Promise.all(devices.map(device => this.#stop(device, late)))
    over.abort()
  }

  async #stop({ deviceId, atEstop }: StoppableDevice, late: Promise<never>): Promise<void> {
    const { devices, logger } = this.#parts
    const pending: StopState = { isAtRest: false, isPending: true, reason: PENDING }
    this.#states.set(deviceId, pending)
    const failure = await Promise.race([devices.stopDevice(deviceId, atEstop), late]).then(
      () => undefined,
      (error: Error) => error.message.slice(0, MAX_REASON).toWellFormed(),
    )
    // a newer stop of the same device reports for itself
    if (this.#states.get(deviceId) !== pending) return
    if (failure === undefined) this.#states.set(deviceId, { isAtRest: true })
    else {
      this.#states.set(deviceId, { isAtRest: false, isPending: false, reason: failure })
      logger.warn({ device: deviceId, reason: failure }, 'a device did not confirm the e-stop')
    }
  }
}
