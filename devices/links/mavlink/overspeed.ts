import type { MavlinkVehicleConfig } from './config.ts'

/** Samples that show a speed; one of a gust or a jump of the position does not. */
const MIN_SAMPLES = 3

export type OverspeedLimits = Pick<
  MavlinkVehicleConfig,
  'overspeed_percent' | 'overspeed_m_s' | 'overspeed_ms'
>

/** Watches the speed of a motion against the approved one. */
export class OverspeedWatch {
  readonly #limits: OverspeedLimits
  /** Speed that is too high, in m/s. */
  readonly limit_m_s: number
  #sinceMs: number | undefined
  #samples = 0

  constructor(approved_m_s: number, limits: OverspeedLimits) {
    this.#limits = limits
    this.limit_m_s = Math.max(
      approved_m_s * (1 + limits.overspeed_percent / 100),
      approved_m_s + limits.overspeed_m_s,
    )
  }

  /** True once the speed has been too high for long enough. `atMs` is monotonic. */
  isExceeded(speed_m_s: number, atMs: number): boolean {
    if (speed_m_s <= this.limit_m_s) {
      this.#sinceMs = undefined
      this.#samples = 0
      return false
    }
    this.#sinceMs ??= atMs
    this.#samples += 1
    return atMs - this.#sinceMs >= this.#limits.overspeed_ms && this.#samples >= MIN_SAMPLES
  }
}
