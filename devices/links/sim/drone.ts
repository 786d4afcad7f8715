import type { EstopBehaviour, PropertyValue } from '../../../shared/wire/device.ts'
import type { SimDeviceConfig } from './config.ts'
import {
  type Activity,
  DONE,
  refuseOperation,
  requireState,
  type SimMachine,
  waitForRest,
} from './machine.ts'
import { Mover } from './mover.ts'
import { DRONE, type SimOperation } from './operations.ts'

/** Speed of a landing, and of a fall with the motors off. */
const LANDING_M_S = 1
const FALLING_M_S = DRONE.max_speed_m_s
const GROUND_M = 0.01

/** Aircraft that is armed, takes off, hovers and lands. */
export class Drone implements SimMachine {
  readonly #mover: Mover
  #isArmed = false
  #isLanding = false

  constructor(config: SimDeviceConfig) {
    this.#mover = new Mover(config, DRONE)
  }

  perform(operation: SimOperation): Activity {
    if (operation.op === 'halt') {
      this.halt(operation.behaviour)
      return waitForRest(this)
    }
    requireState(this.#mover.hasPower, 'the battery is empty')
    if (operation.op === 'arm') return this.#arm()
    if (operation.op === 'take-off') return this.#takeOff(operation.altitude_m, operation.speed_m_s)
    if (operation.op !== 'go') return refuseOperation(`a drone cannot ${operation.op}`)
    requireState(this.#isFlying, 'it is on the ground; take off first')
    this.#isLanding = false
    const { x_m, y_m, altitude_m, speed_m_s } = operation
    return this.#mover.goTo([x_m, y_m, altitude_m], speed_m_s)
  }

  /** A landing ends disarmed; a drone without power comes down too. */
  step(seconds: number): void {
    if (this.#isFlying && !this.#isLanding && !this.#mover.hasPower) this.halt('cut')
    this.#mover.step(seconds)
    if (!this.#isLanding || !this.#mover.isAtRest()) return
    this.#isLanding = false
    this.#isArmed = false
  }

  /** Lands, falls or hovers; on the ground it disarms. */
  halt(behaviour: EstopBehaviour): void {
    if (!this.#isFlying) {
      this.#mover.freeze()
      this.#isArmed = false
    } else if (behaviour === 'land') this.#descend(LANDING_M_S)
    else if (behaviour === 'cut') this.#descend(FALLING_M_S)
    else if (!this.#isLanding) this.#mover.brake()
  }

  isAtRest(): boolean {
    return this.#mover.isAtRest()
  }

  read(): Record<string, PropertyValue> {
    return { ...this.#mover.read(), is_armed: this.#isArmed, is_flying: this.#isFlying }
  }

  get #isFlying(): boolean {
    return this.#mover.altitude_m > GROUND_M
  }

  #arm(): Activity {
    requireState(!this.#isFlying, 'it is in the air')
    this.#isArmed = true
    return DONE
  }

  #takeOff(altitude_m: number, speed_m_s: number): Activity {
    requireState(this.#isArmed, 'it is not armed')
    requireState(!this.#isFlying, 'it is in the air already')
    const [x, y] = this.#mover.position
    return this.#mover.goTo([x, y, altitude_m], speed_m_s)
  }

  #descend(speed_m_s: number): void {
    const [x, y] = this.#mover.position
    this.#isLanding = true
    this.#mover.goTo([x, y, 0], speed_m_s)
  }
}
