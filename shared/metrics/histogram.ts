/**
 * Counts values between bounds. Observing takes nanoseconds and allocates nothing, so that it can
 * run for every request and every token.
 */
export class Histogram {
  /** Upper bounds, ascending; a value equal to a bound is within it. */
  readonly bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let at = 0
    while (at < this.bounds.length && value > (this.bounds[at] as number)) at++
    this.#counts[at] = (this.#counts[at] as number) + 1
    this.#sum += value
  }

  get sum(): number {
    return this.#sum
  }

  get count(): number {
    return this.toCumulative().at(-1) ?? 0
  }

  /** Number of values up to each bound; the last entry is up to infinity. */
  toCumulative(): number[] {
    let total = 0
    return Array.from(this.#counts, count => {
      total += count
      return total
    })
  }
}

/** Bounds in seconds for work of this process: from a quarter of a millisecond to a minute. */
export const FAST_SECONDS = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const

/** Bounds in seconds for answers that are generated token by token. */
export const ANSWER_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
] as const

/** Bounds in seconds for the time between two tokens. */
export const TOKEN_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1,
  2.5,
] as const
