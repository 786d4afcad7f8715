import type { Clock } from './clock.ts'

/** Longer waits than 24.8 days would end at once (setTimeout of Node). */
const MOST_MS = 2 ** 31 - 1

interface TenureOptions {
  clock: Clock
  /** 0 is never. */
  limitMs: number
  /** Time since the model was last needed; 0 while it is needed. */
  idleMs: () => number
  /** Runs once when the limit is reached. */
  onIdle: () => void
}

/**
 * Decides how long a model stays loaded: permanently, or until it has been idle for a given time.
 */
export class Tenure {
  /** An operator wants it to stay. */
  pinned = false
  /** True when the model was loaded at the start, to stay. */
  preloaded = false
  readonly #options: TenureOptions
  #callOff = (): void => {}

  constructor(options: TenureOptions) {
    this.#options = options
  }

  /**
   * Starts the watch. The owner calls it when the model is loaded and after each change of the
   * pins.
   */
  watch(): void {
    this.end()
    const { clock, limitMs, idleMs, onIdle } = this.#options
    if (limitMs === 0 || this.pinned || this.preloaded) return
    const restMs = limitMs - idleMs()
    if (restMs <= 0) onIdle()
    else this.#callOff = clock.callAfter(Math.min(restMs, MOST_MS), () => this.watch())
  }

  /** Stops watching a model that is no longer loaded. */
  end(): void {
    this.#callOff()
  }
}
