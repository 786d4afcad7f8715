import { LEAST_SUSPENSION_MS } from './elapsed.ts'

/**
 * Time for which this process certainly holds something. It counts from before it was asked for, and
 * passes while the machine is suspended; a suspension too short to be noticed is deducted.
 */
export class Tenure {
  readonly #elapsedMs: () => number
  #untilMs = Number.NEGATIVE_INFINITY

  /** @param elapsedMs clock of `createElapsedMs` */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
  }

  get isOver(): boolean {
    return this.#elapsedMs() >= this.#untilMs
  }

  /** Returns the moment before a request, for `extend`. */
  ask(): number {
    return this.#elapsedMs()
  }

  extend(askedMs: number, milliseconds: number): void {
    this.#untilMs = askedMs + milliseconds - LEAST_SUSPENSION_MS
  }

  end(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY
  }
}
