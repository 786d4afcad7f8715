import { Battery } from './battery.ts'
import {
  type Body,
  type BodyLimits,
  hasReached,
  isAtRest,
  lengthOf,
  moveBody,
  STILL,
  steerTo,
  subtract,
  type Vector,
} from './body.ts'
import type { SimDeviceConfig } from './config.ts'
import type { Activity } from './machine.ts'

interface Goal {
  /** Velocity for the next step. */
  steer(body: Body, seconds: number): Vector
  isReached(body: Body): boolean
  /** Position in which it ends, where it is known. */
  target?: Vector
}

const RADIANS = Math.PI / 180
const FULL_TURN = 360

/** Moving part of a rover or drone: a body with a goal and a battery. */
export class Mover {
  readonly #limits: BodyLimits
  readonly #battery: Battery
  readonly #dock: Vector
  #body: Body
  #goal: Goal | undefined
  #reached: Goal | undefined
  #heading_degrees = 0
  #isDocked = true

  constructor(config: SimDeviceConfig, limits: BodyLimits) {
    this.#limits = limits
    this.#battery = new Battery(config)
    this.#dock = [config.x_m, config.y_m, 0]
    this.#body = { position: this.#dock, velocity: STILL }
  }

  get altitude_m(): number {
    return this.#body.position[2]
  }

  get position(): Vector {
    return this.#body.position
  }

  get hasPower(): boolean {
    return !this.#battery.isEmpty
  }

  isAtRest(): boolean {
    return this.#goal === undefined && isAtRest(this.#body)
  }

  /** Moves in a straight line and ends at rest. */
  goTo(target: Vector, speed_m_s: number): Activity {
    const whole = lengthOf(subtract(target, this.#body.position)) || 1
    const measureRest = (): number => lengthOf(subtract(target, this.#body.position))
    const activity = this.#pursue({
      steer: (body, seconds) => steerTo(body, target, speed_m_s, this.#limits, seconds),
      isReached: body => hasReached(body, target),
      target,
    })
    return { ...activity, percent: () => 100 * (1 - Math.min(1, measureRest() / whole)) }
  }

  goToDock(speed_m_s: number): Activity {
    return this.goTo(this.#dock, speed_m_s)
  }

  /** Moves at a constant velocity for a time, then brakes. Headings are clockwise from +y. */
  drive(heading_degrees: number, speed_m_s: number, duration_s: number): Activity {
    const angle = heading_degrees * RADIANS
    const velocity: Vector = [Math.sin(angle) * speed_m_s, Math.cos(angle) * speed_m_s, 0]
    let left_s = duration_s
    return this.#pursue({
      steer: (_body, seconds) => {
        left_s -= seconds
        return left_s > 0 ? velocity : STILL
      },
      isReached: body => left_s <= 0 && isAtRest(body),
    })
  }

  /** Ends the goal; the body then brakes within its acceleration. */
  brake(): void {
    this.#goal = undefined
  }

  /** Rests at once, as with blocked wheels. */
  freeze(): void {
    this.#goal = undefined
    this.#body = { ...this.#body, velocity: STILL }
  }

  step(seconds: number): void {
    const before = this.#body
    const wanted = this.#goal?.steer(before, seconds) ?? STILL
    this.#body = moveBody(before, wanted, this.#limits, seconds)
    const way = subtract(this.#body.position, before.position)
    if (lengthOf(way) > 1e-6) this.#heading_degrees = headingOf(way) ?? this.#heading_degrees
    if (this.#goal?.isReached(this.#body)) this.#complete(this.#goal)
    this.#isDocked = hasReached(this.#body, this.#dock)
    this.#battery.step(seconds, lengthOf(way), this.#isDocked)
  }

  read() {
    const [x_m, y_m, altitude_m] = this.#body.position
    return {
      battery_percent: this.#battery.percent,
      x_m,
      y_m,
      altitude_m,
      speed_m_s: lengthOf(this.#body.velocity),
      heading_degrees: this.#heading_degrees,
      is_docked: this.#isDocked,
    }
  }

  #pursue(goal: Goal): Activity {
    this.#goal = goal
    return { getState: () => (this.#goal === goal ? 'running' : this.#wasReached(goal)) }
  }

  #complete(goal: Goal): void {
    this.#body = { position: goal.target ?? this.#body.position, velocity: STILL }
    this.#reached = goal
    this.#goal = undefined
  }

  #wasReached(goal: Goal): 'done' | 'interrupted' {
    return this.#reached === goal ? 'done' : 'interrupted'
  }
}

const headingOf = ([x, y]: Vector): number | undefined =>
  x === 0 && y === 0 ? undefined : (Math.atan2(x, y) / RADIANS + FULL_TURN) % FULL_TURN
