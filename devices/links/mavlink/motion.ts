import { ShoalError } from '../../../shared/errors.ts'
import type { ExecuteContext } from '../../device-link.ts'
import type { RestObserver } from '../../rest-observer.ts'
import type { MavlinkGoal } from './goal.ts'
import { measureDistance } from './goal-distance.ts'
import type { ModeWatch } from './mode-watch.ts'
import { type OverspeedLimits, OverspeedWatch } from './overspeed.ts'
import type { Vehicle } from './vehicle.ts'

/** A vehicle is at rest once it has been for this long: a hovering one sways. */
const REST_FOR_MS = 600
/** A vehicle that rests for this long away from its goal will not reach it. */
const STALLED_MS = 30_000

/** End of a motion before its goal: the vehicle has to be braked. */
export class MotionEnd extends Error {
  /** Reason of the failure: `envelope_violated`, `stalled`. */
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.name = 'MotionEnd'
    this.reason = reason
  }
}

interface MotionParts {
  vehicle: Vehicle
  name: string
  modes: ModeWatch
  /** Observes rest, or for a landing the ground. */
  observer: RestObserver
  goal: MavlinkGoal
  /** Approved speed; absent for a verb without a motion. */
  approved_m_s?: number | undefined
  limits: OverspeedLimits
  /** Unix time of the last operation in milliseconds: older readings do not count. */
  since: number
  nowMs: () => number
  report: ExecuteContext['report']
}

/** Observes one motion until its goal is reached, and finds what ends it before. */
export class Motion {
  readonly #parts: MotionParts
  readonly #overspeed: OverspeedWatch | undefined
  #restSinceMs: number | undefined
  #speedAt = 0

  constructor(parts: MotionParts) {
    this.#parts = parts
    const { approved_m_s, limits } = parts
    this.#overspeed =
      approved_m_s === undefined ? undefined : new OverspeedWatch(approved_m_s, limits)
  }

  /**
   * Looks at the newest readings; true when the goal is reached.
   * @throws MotionEnd at a speed above the approved one, or when stalled; ShoalError after a take-over
   */
  hasArrived(): boolean {
    const { vehicle, goal, since, report } = this.#parts
    const distance_m = measureDistance({ readings: vehicle.readings, since }, goal)
    const rested_ms = this.#measureRest()
    if (this.#isMet(distance_m, rested_ms)) return true
    this.#requireOwnMode()
    this.#requireSpeed()
    if (rested_ms >= STALLED_MS && !this.#isLanding)
      throw new MotionEnd('stalled', `${this.#parts.name} rests ${describe(distance_m)}`)
    if (distance_m !== undefined) report({ message: `${Math.round(distance_m)} m to go` })
    return false
  }

  get #isLanding(): boolean {
    return this.#parts.goal.kind === 'landed'
  }

  #isMet(distance_m: number | undefined, rested_ms: number): boolean {
    const { goal, modes } = this.#parts
    const hasRested = rested_ms >= REST_FOR_MS
    if (goal.kind === 'landed' || goal.kind === 'rest') return hasRested
    // heartbeats are rarer than positions: the last one may be from before the motion
    const isThere = modes.isConfirmed && distance_m !== undefined && distance_m <= goal.within_m
    return isThere && (hasRested || ('is_circling' in goal && goal.is_circling === true))
  }

  /** Time of uninterrupted rest so far, in milliseconds. On the ground at once: it is disarmed. */
  #measureRest(): number {
    const nowMs = this.#parts.nowMs()
    if (this.#parts.observer.look().state !== 'at_rest') {
      this.#restSinceMs = undefined
      return 0
    }
    if (this.#isLanding) return Number.POSITIVE_INFINITY
    this.#restSinceMs ??= nowMs
    return nowMs - this.#restSinceMs
  }

  #requireOwnMode(): void {
    const { modes, name, vehicle } = this.#parts
    if (!modes.isTakenOver) return
    const mode = vehicle.readings.mode?.value
    throw new ShoalError('conflict', `${name} was taken over: its mode is ${mode}`)
  }

  #requireSpeed(): void {
    const { vehicle, name, approved_m_s, nowMs } = this.#parts
    const { value, at = 0 } = vehicle.readings.speed_m_s ?? {}
    if (typeof value !== 'number' || at === this.#speedAt) return
    this.#speedAt = at
    if (!this.#overspeed?.isExceeded(value, nowMs())) return
    throw new MotionEnd(
      'envelope_violated',
      `${name} moves at ${value.toFixed(1)} m/s, and ${approved_m_s} m/s were approved`,
    )
  }
}

const describe = (distance_m: number | undefined): string =>
  distance_m === undefined
    ? 'and has not reached its goal'
    : `${Math.round(distance_m)} m from its goal`
