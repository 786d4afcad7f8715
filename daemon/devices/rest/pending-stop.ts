import { DeviceFailure, TAKEN_OVER } from '../../../devices/device-failure.ts'
import { isRestObservable, RestObserver } from '../../../devices/rest-observer.ts'
import type { EstopBehaviour } from '../../../shared/wire/device.ts'
import {
  type DeviceOutcome,
  isConfirmed,
  MAX_SENT,
  NOTHING_SEEN,
} from '../../../shared/wire/device-outcome.ts'
import type { HostedDevice } from '../hosted-device.ts'

export interface StopOrder {
  deviceId: string
  behaviour: EstopBehaviour
  /** Reason of the stop, for people. */
  reason: string
  /** Time of the order, in unix milliseconds; readings from then on count. */
  since: number
  /** Operations asked and state observed before. */
  outcome?: DeviceOutcome
  /** True when the device has not been told to stop yet. */
  isUnsent?: boolean
  /** True for a stop that the cell gives by itself, which leaves a device alone that was taken over. */
  isOwn?: boolean
}

interface PendingStopParts {
  order: StopOrder
  find: () => HostedDevice | undefined
  /** True while the device is under another order: a verb that runs, or an e-stop. */
  isUnderOrder: () => boolean
  /** Runs when the device first acknowledges a stop that it may not have received before. */
  onHeard: () => void
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic clock, in milliseconds. */
  nowMs: () => number
  /** Time between two orders to a device that is reachable and not at rest. */
  repeatMs: number
}

/**
 * End of a stop: the device was seen at rest, was left to a person who has taken it over, or has
 * acknowledged the stop and does not show whether it rests.
 */
export type StopEnd = 'at_rest' | 'taken_over' | 'acknowledged'

/** One stop that is repeated until its device is seen at rest. */
export class PendingStop {
  readonly order: StopOrder
  readonly #parts: PendingStopParts
  #outcome: DeviceOutcome
  #observer: RestObserver | undefined
  #profileId: string | undefined
  #wasAvailable: boolean
  #orderedAtMs: number
  #isOrdering = false
  #isUnsent: boolean
  #isUnheard: boolean
  #end: StopEnd | undefined

  constructor(parts: PendingStopParts) {
    const { order, find, nowMs, repeatMs } = parts
    this.order = order
    this.#parts = parts
    this.#outcome = order.outcome ?? NOTHING_SEEN
    this.#wasAvailable = find()?.device.available ?? false
    this.#isUnsent = order.isUnsent ?? false
    this.#isUnheard = this.#isUnsent
    this.#orderedAtMs = this.#isUnsent ? nowMs() - repeatMs : nowMs()
  }

  get outcome(): DeviceOutcome {
    return this.#outcome
  }

  /** The stop may not have reached the device; the next run of the daemon sends it again. */
  get isUnheard(): boolean {
    return this.#isUnheard
  }

  /** End of the stop; undefined until then. */
  get end(): StopEnd | undefined {
    return this.#end
  }

  /** Looks at the device, and repeats the order when it is due or the device is back. */
  look(): void {
    const hosted = this.#parts.find()
    if (hosted === undefined || this.#end !== undefined) return
    this.#observe(hosted)
    const { available } = hosted.device
    const isBack = available && !this.#wasAvailable
    this.#wasAvailable = available
    const isDue = this.#parts.nowMs() - this.#orderedAtMs >= this.#parts.repeatMs
    const isFree = this.#end === undefined && !this.#isOrdering && !this.#parts.isUnderOrder()
    if (isFree && available && (isBack || isDue)) void this.#repeat(hosted)
  }

  #observe({ device, link }: HostedDevice): void {
    const { order, now } = this.#parts
    const { deviceId, behaviour, since } = order
    const readState = () => link.readState(deviceId)
    const { profile } = device
    // what a device is may be known only later, by its first sign of life
    if (this.#observer === undefined || this.#profileId !== profile.id)
      this.#observer = new RestObserver({ deviceId, profile, behaviour, readState, now }, since)
    this.#profileId = profile.id
    const seen = this.#observer.look()
    // without a reading since the order, the last observation stands
    if (seen.at !== null) this.#outcome = { ...this.#outcome, seen }
    // a device that was not told to stop may rest only for a moment, on its way
    if (isConfirmed(seen) && !this.#isUnsent) this.#end = 'at_rest'
  }

  async #repeat({ device, link }: HostedDevice): Promise<void> {
    const { deviceId, behaviour } = this.order
    const isRepeated = !this.#isUnsent || this.order.isOwn === true
    if (this.#isUnsent) this.#observer?.restart()
    this.#isUnsent = false
    this.#isOrdering = true
    this.#orderedAtMs = this.#parts.nowMs()
    const before = this.#outcome.asked.sent
    const note = ({ asked, seen }: DeviceOutcome): void => {
      const sent = [...before, ...asked.sent].slice(-MAX_SENT)
      this.#outcome = { asked: { sent }, seen: seen.at === null ? this.#outcome.seen : seen }
      if (isConfirmed(seen)) this.#end = 'at_rest'
    }
    try {
      note(await link.stop(deviceId, behaviour, { isRepeated, report: note }))
      this.#noteHeard()
      if (!isRestObservable(device.profile)) this.#end ??= 'acknowledged'
    } catch (error) {
      if (!(error instanceof DeviceFailure)) return
      note(error.outcome)
      if (error.reason === TAKEN_OVER) this.#end = 'taken_over'
    } finally {
      this.#isOrdering = false
    }
  }

  #noteHeard(): void {
    if (!this.#isUnheard) return
    this.#isUnheard = false
    this.#parts.onHeard()
  }
}
