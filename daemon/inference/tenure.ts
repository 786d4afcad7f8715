import type { Clock } from './clock.ts'

/** Longer waits than 24.8 days would end at once (setTimeout of Node). */
const MOST_MS = 2 ** 31 - 1

export interface TenureOptions {
  clock: Clock
  /** 0 is never. */
  limitMs: number
  /** How long nobody has needed it; 0 while somebody does. */
  idleMs: () => number
  /** Called once when the limit is reached. */
  onIdle: () => void
}

/** How long a loaded model stays: for ever, or until nobody has used it for a while. */
export class Tenure {
  /** An operator wants it to stay. */
  pinned = false
  /** It was loaded at the start, to stay. */
  preloaded = false
  readonly #options: TenureOptions
  #callOff = (): void => {}

  constructor(options: TenureOptions) {
    this.#options = options
  }

  /** To be called when it is loaded, and after each change of what was wanted. */
  watch(): void {
    this.end()
    const { clock, limitMs, idleMs, onIdle } = this.#options
    if (limitMs === 0 || this.pinned || this.preloaded) return
    const restMs = limitMs - idleMs()
    if (restMs <= 0) onIdle()
    else this.#callOff = clock.after(Math.min(restMs, MOST_MS), () => this.watch())
  }

  /** It is not loaded any more. */
  end(): void {
    this.#callOff()
  }
}
