import { ShoalError } from '../../../shared/errors.ts'
import { wait as realWait, type Wait } from '../../../shared/wait.ts'
import type { Bounds, CoordinatorClock } from '../../commands/clock.ts'

/** Most time for a new measurement of the coordinator's clock. */
const MEASURE_MS = 3000
const POLL_MS = 25

export interface CoordinatorTimeParts {
  clock: Pick<CoordinatorClock, 'bounds'>
  /** Asks the coordinators for their time; the clock has the answers later. */
  askTime: () => Promise<void>
  wait?: Wait
}

/**
 * Waits for moments of the coordinator's clock. A moment has come when it has come at the earliest
 * possible time, so that two cells differ by no more than the width of the wider bounds.
 */
export class CoordinatorTime {
  readonly #parts: CoordinatorTimeParts
  readonly #wait: Wait

  constructor(parts: CoordinatorTimeParts) {
    this.#parts = parts
    this.#wait = parts.wait ?? realWait
  }

  /** Width of the bounds in milliseconds; undefined while nothing was measured. */
  get width_ms(): number | undefined {
    const bounds = this.#parts.clock.bounds()
    return bounds && bounds.latest - bounds.earliest
  }

  /** Measures again until the bounds are narrow enough, or no better answer comes in time. */
  async narrow(width_ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isWithin(width_ms)) return
    await this.#parts.askTime().catch(() => {})
    for (let waited = 0; waited < MEASURE_MS && !this.#isWithin(width_ms); waited += POLL_MS) {
      await this.#wait(POLL_MS, signal)
      signal.throwIfAborted()
    }
  }

  /**
   * Time since a moment, at most and at least, in milliseconds; negative before it.
   * @throws ShoalError conflict while nothing was measured
   */
  since(at: number): { most_ms: number; least_ms: number } {
    const { earliest, latest } = this.#requireBounds()
    return { most_ms: latest - at, least_ms: earliest - at }
  }

  /** Resolves when the moment has come; rejects with the reason of the signal. */
  async waitFor(at: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const left_ms = at - this.#requireBounds().earliest
      if (left_ms <= 0) return
      // the bounds may become narrower meanwhile
      await this.#wait(Math.min(left_ms, 1000), signal)
    }
  }

  #isWithin(width_ms: number): boolean {
    return this.width_ms !== undefined && this.width_ms <= width_ms
  }

  #requireBounds(): Bounds {
    const bounds = this.#parts.clock.bounds()
    if (bounds !== undefined) return bounds
    throw new ShoalError('conflict', 'the time of the coordinator is not known')
  }
}
