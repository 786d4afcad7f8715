import { ShoalError } from '../../../shared/errors.ts'
import type { EstopBehaviour, PropertyValue } from '../../../shared/wire/device.ts'
import type { SimOperation } from './operations.ts'

/** Something that a device does until it is done, or ends early. */
export interface Activity {
  getState(): 'running' | 'done' | 'interrupted'
  /** Share that is done; absent where it is unknown. */
  percent?(): number
}

/** Behaviour of a kind of simulated device; its world drives the steps. */
export interface SimMachine {
  /** Begins an operation. Throws ShoalError conflict for one that its state does not permit. */
  perform(operation: SimOperation): Activity
  step(seconds: number): void
  halt(behaviour: EstopBehaviour): void
  isAtRest(): boolean
  read(): Record<string, PropertyValue>
}

export const DONE: Activity = { getState: () => 'done' }

/** Activity that lasts until a device is at rest. */
export const waitForRest = (machine: Pick<SimMachine, 'isAtRest'>): Activity => ({
  getState: () => (machine.isAtRest() ? 'done' : 'running'),
})

export const refuseOperation = (reason: string): never => {
  throw new ShoalError('conflict', `the device refuses it: ${reason}`)
}

/** Requires a state. Throws ShoalError conflict with the reason otherwise. */
export const requireState = (holds: boolean, reason: string): void => {
  if (!holds) refuseOperation(reason)
}
