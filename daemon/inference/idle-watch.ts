import type { Clock } from './clock.ts'

export interface IdleWatchOptions {
  clock: Clock
  /** 0 is never. */
  limitMs: number
  /** How long nobody has needed it; 0 while somebody does. */
  idleMs: () => number
  /** Called once when the limit is reached. */
  onIdle: () => void
}

/** Looks whether something has been idle for long enough to be let go. */
export class IdleWatch {
  readonly #options: IdleWatchOptions
  #callOff = (): void => {}

  constructor(options: IdleWatchOptions) {
    this.#options = options
  }

  begin(): void {
    this.end()
    const { clock, limitMs, idleMs, onIdle } = this.#options
    if (limitMs === 0) return
    const restMs = limitMs - idleMs()
    if (restMs <= 0) onIdle()
    else this.#callOff = clock.after(restMs, () => this.begin())
  }

  end(): void {
    this.#callOff()
  }
}
