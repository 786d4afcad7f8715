import type { SimDeviceConfig } from './config.ts'

/** Charge that electronics use, and that a dock gives, in percent per second. */
const IDLE_PERCENT_PER_S = 0.001
const CHARGE_PERCENT_PER_S = 0.5

type BatteryConfig = Pick<SimDeviceConfig, 'battery_percent' | 'battery_metres' | 'faults'>

/** Battery that drains with time and distance, and charges at a dock. */
export class Battery {
  #percent: number
  #seconds = 0
  readonly #metres: number
  readonly #drop: BatteryConfig['faults']['battery_drop']

  constructor({ battery_percent, battery_metres, faults }: BatteryConfig) {
    this.#percent = battery_percent
    this.#metres = battery_metres
    this.#drop = faults.battery_drop
  }

  get percent(): number {
    return this.#percent
  }

  get isEmpty(): boolean {
    return this.#percent <= 0
  }

  step(seconds: number, distance_m: number, isDocked: boolean): void {
    const before = this.#seconds
    this.#seconds += seconds
    const { after_s = Number.POSITIVE_INFINITY, percent = 0 } = this.#drop ?? {}
    const dropped = before < after_s && after_s <= this.#seconds ? percent : 0
    const used = IDLE_PERCENT_PER_S * seconds + (100 * distance_m) / this.#metres
    const charged = isDocked ? CHARGE_PERCENT_PER_S * seconds : 0
    this.#percent = Math.min(100, Math.max(0, this.#percent - dropped - used + charged))
  }
}
