import type { DeviceState } from '../../../shared/wire/device.ts'
import type { Frame } from './frame.ts'
import { decodePayload } from './message.ts'
import { GPS_RAW_INT } from './messages.ts'

/** Readings that come from the position filter. */
const OF_POSITION: readonly string[] = ['lat', 'lon', 'speed_m_s']
/** Time without a new fix after which the GPS counts as lost: autopilots need five fixes a second. */
const LOST_AFTER_MS = 700
/** Time in which a filter reports that it has lost its position; EKF3 guesses for up to 15 s before. */
const UNREPORTED_MS = 20_000

/**
 * Judges whether the position filter of a vehicle knows its position and speed. A filter that has lost
 * the GPS guesses for some seconds before it says so; one that is healthy afterwards has another source.
 */
export class PositionTrust {
  readonly #nowMs: () => number
  #fixTime = 0
  #fixAtMs = 0
  #lostAtMs: number | undefined

  /** `nowMs`: monotonic clock in milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Notes the time of the newest fix: ArduPilot repeats it, and for seconds its type, after a loss. */
  note({ messageId, payload }: Frame): void {
    if (messageId !== GPS_RAW_INT.id) return
    const fixTime = Number(decodePayload(GPS_RAW_INT, payload).time_usec)
    const nowMs = this.#nowMs()
    if (fixTime !== this.#fixTime) {
      this.#fixTime = fixTime
      this.#fixAtMs = nowMs
      this.#lostAtMs = undefined
    } else if (fixTime !== 0 && nowMs - this.#fixAtMs > LOST_AFTER_MS) this.#lostAtMs ??= nowMs
  }

  /** True for a reading that the filter guesses. */
  isGuess(name: string, readings: DeviceState['readings']): boolean {
    return OF_POSITION.includes(name) && (readings.is_ekf_healthy?.value === false || this.#isLost)
  }

  get #isLost(): boolean {
    return this.#lostAtMs !== undefined && this.#nowMs() - this.#lostAtMs < UNREPORTED_MS
  }
}
