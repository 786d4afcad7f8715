import type { EstopBehaviour } from '../../../shared/wire/device.ts'
import type { SimDeviceConfig } from './config.ts'
import {
  type Activity,
  refuseOperation,
  requireState,
  type SimMachine,
  waitForRest,
} from './machine.ts'
import { Mover } from './mover.ts'
import { ROVER, type SimOperation } from './operations.ts'

/** Wheeled robot on the floor. */
export class Rover implements SimMachine {
  readonly #mover: Mover

  constructor(config: SimDeviceConfig) {
    this.#mover = new Mover(config, ROVER)
  }

  perform(operation: SimOperation): Activity {
    if (operation.op === 'halt') {
      this.halt(operation.behaviour)
      return waitForRest(this)
    }
    requireState(this.#mover.hasPower, 'the battery is empty')
    if (operation.op === 'go')
      return this.#mover.goTo([operation.x_m, operation.y_m, 0], operation.speed_m_s)
    if (operation.op === 'drive')
      return this.#mover.drive(operation.heading_degrees, operation.speed_m_s, operation.duration_s)
    if (operation.op === 'dock') return this.#mover.goToDock(operation.speed_m_s)
    return refuseOperation(`a rover cannot ${operation.op}`)
  }

  step(seconds: number): void {
    if (!this.#mover.hasPower) this.#mover.brake()
    this.#mover.step(seconds)
  }

  halt(behaviour: EstopBehaviour): void {
    if (behaviour === 'cut') this.#mover.freeze()
    else this.#mover.brake()
  }

  isAtRest(): boolean {
    return this.#mover.isAtRest()
  }

  read(): ReturnType<SimMachine['read']> {
    return this.#mover.read()
  }
}
