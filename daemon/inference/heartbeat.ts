import type { Clock } from './clock.ts'

/** Interval at which a busy engine process beats, whether it makes steps or not. */
export const BEAT_MS = 1000
/** Interval at which the beats are looked for. */
const LOOK_MS = 2000
/** Looks in a row without a beat after which the process counts as hung. */
const MAX_MISSED = 5

/**
 * Watches the beats of a busy engine process. It counts looks rather than time: a daemon that was
 * suspended looks once, and then reads the beats that have arrived meanwhile.
 */
export class Heartbeat {
  readonly #clock: Clock
  readonly #onLost: (seconds: number) => void
  #missed = 0
  #callOff: (() => void) | undefined

  constructor(clock: Clock, onLost: (seconds: number) => void) {
    this.#clock = clock
    this.#onLost = onLost
  }

  noteBeat(): void {
    this.#missed = 0
  }

  /** Begins to look, when the process gets work. */
  start(): void {
    if (this.#callOff !== undefined) return
    this.#missed = 0
    this.#lookLater()
  }

  stop(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  #lookLater(): void {
    this.#callOff = this.#clock.callAfter(LOOK_MS, () => {
      if (++this.#missed >= MAX_MISSED) {
        this.stop()
        this.#onLost((MAX_MISSED * LOOK_MS) / 1000)
      } else this.#lookLater()
    })
  }
}
