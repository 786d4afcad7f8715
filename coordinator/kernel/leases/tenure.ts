import type { Runtime } from '../../../shared/runtime.ts'

type Clocks = Pick<Runtime, 'now' | 'nowMs'>

/** Time by both clocks of the process. */
export interface Moment {
  readonly at: number
  readonly atMs: number
}

/** Returns the moment before a request, for `extend`. */
export const readMoment = ({ now, nowMs }: Clocks): Moment => ({ at: now(), atMs: nowMs() })

/**
 * Time for which this process certainly holds something. It counts from before it was asked for, and
 * ends by whichever clock is first: the monotonic one stands still while a machine is suspended, and
 * the other one may be set back.
 */
export class Tenure {
  readonly #clocks: Clocks
  #until = Number.NEGATIVE_INFINITY
  #untilMs = Number.NEGATIVE_INFINITY

  constructor(clocks: Clocks) {
    this.#clocks = clocks
  }

  get isOver(): boolean {
    return this.#clocks.nowMs() >= this.#untilMs || this.#clocks.now() >= this.#until
  }

  /** Returns the moment before a request, for `extend`. */
  ask(): Moment {
    return readMoment(this.#clocks)
  }

  extend({ at, atMs }: Moment, milliseconds: number): void {
    this.#until = at + milliseconds
    this.#untilMs = atMs + milliseconds
  }

  end(): void {
    this.#until = Number.NEGATIVE_INFINITY
    this.#untilMs = Number.NEGATIVE_INFINITY
  }
}
