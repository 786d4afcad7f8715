import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour, PropertyValue } from '../../../shared/wire/device.ts'
import { createDeviceId } from '../../device-id.ts'
import type { SimDeviceConfig } from './config.ts'
import { Drone } from './drone.ts'
import { drawNumber } from './faults.ts'
import type { Activity, SimMachine } from './machine.ts'
import type { SimOperation } from './operations.ts'
import { Printer } from './printer.ts'
import { Rover } from './rover.ts'
import { Switch } from './switch.ts'

const MACHINES: Record<SimDeviceConfig['profile'], new (config: SimDeviceConfig) => SimMachine> = {
  'sim-rover': Rover,
  'sim-drone': Drone,
  'sim-printer': Printer,
  'sim-switch': Switch,
}

/** Properties that a position error applies to. */
const NOISY = ['x_m', 'y_m']

/** A simulated device: its machine behind sensors and a radio that can fail. */
export class SimUnit {
  readonly deviceId: string
  readonly config: SimDeviceConfig
  /** Failures, which tests may change at any time. */
  faults: SimDeviceConfig['faults']
  readonly #seed: number
  readonly #machine: SimMachine
  #activity: Activity | undefined
  #received = 0
  #executed = 0
  #observed = 0
  #state: DeviceState

  constructor(cellId: string, seed: number, config: SimDeviceConfig) {
    this.deviceId = createDeviceId(`${cellId}:${config.name}`)
    this.config = config
    this.faults = config.faults
    this.#seed = seed
    this.#machine = new MACHINES[config.profile](config)
    this.#state = { device_id: this.deviceId, seen_at: null, readings: {} }
  }

  get state(): DeviceState {
    return this.#state
  }

  /** True once its sensors have reported something. */
  get hasReported(): boolean {
    return Object.keys(this.#state.readings).length > 0
  }

  /** Values of the machine itself, which a failing sensor does not report. */
  get truth(): Readonly<Record<string, PropertyValue>> {
    return this.#machine.read()
  }

  /** Operations that it has begun. */
  get executed(): number {
    return this.#executed
  }

  /** False once something newer, or a halt, has ended the activity. */
  isCurrent(activity: Activity): boolean {
    return this.#activity === activity
  }

  isAtRest(): boolean {
    return this.#machine.isAtRest()
  }

  /** Decides whether the next message arrives; each call is one message. */
  isNextLost(): boolean {
    const draw = drawNumber(this.#seed, `${this.config.name} message ${this.#received++}`)
    return 100 * draw < this.faults.lost_percent
  }

  /** Begins an operation; whatever ran before is over. Throws ShoalError conflict for a refusal. */
  begin(operation: SimOperation): Activity {
    const { refusal } = this.faults
    if (refusal !== undefined && operation.op !== 'halt')
      throw new ShoalError('conflict', `${this.config.name} refuses commands: ${refusal}`)
    const activity = this.#machine.perform(operation)
    this.#executed++
    this.#activity = activity
    return activity
  }

  halt(behaviour: EstopBehaviour): void {
    this.#activity = undefined
    this.#machine.halt(behaviour)
  }

  step(seconds: number): void {
    this.#machine.step(seconds)
  }

  /** Takes readings at a time, unless the sensors are frozen. */
  observe(now: number): void {
    const { readings } = this.#state
    const taken = this.faults.has_frozen_sensors ? readings : this.#takeReadings(now)
    const seen_at = Object.keys(taken).length > 0 ? now : null
    this.#state = { device_id: this.deviceId, seen_at, readings: taken }
  }

  #takeReadings(at: number): DeviceState['readings'] {
    const values = { ...this.#machine.read(), executed_count: this.#executed }
    const seed = `${this.config.name} reading ${this.#observed++}`
    const take = ([name, value]: [string, PropertyValue]) => [
      name,
      { value: NOISY.includes(name) ? this.#blur(value, `${seed} ${name}`) : value, at },
    ]
    return Object.fromEntries(Object.entries(values).map(take))
  }

  #blur(value: PropertyValue, label: string): PropertyValue {
    if (typeof value !== 'number' || this.faults.position_noise_m === 0) return value
    return value + this.faults.position_noise_m * (2 * drawNumber(this.#seed, label) - 1)
  }
}
