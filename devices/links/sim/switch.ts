import type { EstopBehaviour, PropertyValue } from '../../../shared/wire/device.ts'
import { type Activity, DONE, refuseOperation, type SimMachine } from './machine.ts'
import type { SimOperation } from './operations.ts'

const LOAD_WATTS = 40

/** Mains switch with a load. */
export class Switch implements SimMachine {
  #isOn = false

  perform(operation: SimOperation): Activity {
    if (operation.op === 'halt') this.halt(operation.behaviour)
    else if (operation.op === 'switch') this.#isOn = operation.on
    else refuseOperation(`a switch cannot ${operation.op}`)
    return DONE
  }

  step(): void {}

  halt(behaviour: EstopBehaviour): void {
    if (behaviour !== 'none') this.#isOn = false
  }

  isAtRest(): boolean {
    return !this.#isOn
  }

  read(): Record<string, PropertyValue> {
    return { is_on: this.#isOn, power_watts: this.#isOn ? LOAD_WATTS : 0 }
  }
}
