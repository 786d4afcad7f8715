import type { Clock } from './clock.ts'

/** A process that was killed and is still there after this time is not waited for. */
export const KILL_MS = 2000

/**
 * The engine processes that there are, by what they serve. One that hangs in a driver outlives its
 * SIGKILL and keeps its memory: a second one beside it would find too little.
 */
export class Leftovers {
  readonly #clock: Clock
  /** Callbacks per name, called when the last process of that name has ended. */
  readonly #waiting = new Map<string, Set<() => void>>()
  #goneAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Registers a process of that name; call the returned function when it has ended. */
  add(name: string): () => void {
    const waiting = new Set<() => void>()
    this.#waiting.set(name, waiting)
    return () => {
      this.#waiting.delete(name)
      this.#goneAt = this.#clock.now()
      for (const resolve of waiting) resolve()
    }
  }

  /** Time since the last of them ended, in milliseconds. */
  get quietMs(): number {
    return this.#clock.now() - this.#goneAt
  }

  has(name: string): boolean {
    return this.#waiting.has(name)
  }

  /** Resolves with true as soon as none is left, and with false when one remains. */
  waitForNone(name: string): Promise<boolean> {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return Promise.resolve(true)
    return new Promise(resolve => {
      const callOff = this.#clock.callAfter(KILL_MS, () => resolve(false))
      waiting.add(() => {
        callOff()
        resolve(true)
      })
    })
  }
}
