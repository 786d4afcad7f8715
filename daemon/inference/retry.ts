import type { Clock } from './clock.ts'
import { fileStamp } from './weights.ts'

/** Something that is to be tried again; one thing at a time. */
export class Retry {
  readonly #clock: Clock
  #at = 0
  /** Incremented whenever the planned retry becomes invalid. */
  #turn = 0
  #callOff = (): void => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  later(ms: number, run: () => void): void {
    this.cancel()
    this.#at = this.#clock.now() + ms
    this.#callOff = this.#clock.callAfter(ms, run)
  }

  /** Runs once the file's stamp changes; the file is checked every `everyMs`. */
  onReplaced(file: string, stamp: string, everyMs: number, run: () => void): void {
    this.later(everyMs, async () => {
      const turn = this.#turn
      const now = await fileStamp(file)
      if (turn !== this.#turn) return
      if (now !== stamp) run()
      else this.onReplaced(file, stamp, everyMs, run)
    })
  }

  cancel(): void {
    this.#turn++
    this.#callOff()
  }

  /** Seconds until the next try, at least 1. */
  get seconds(): number {
    return Math.max(1, Math.ceil((this.#at - this.#clock.now()) / 1000))
  }
}
