/** Weight of a new value in the mean; the deviation follows twice as fast. */
const RECENT_WEIGHT = 1 / 8
/** Values that count equally in the mean, unless the weight is larger. */
const FIRST_VALUES = 20
/** Deviations above the mean within which nearly all values lie. */
const DEVIATIONS = 4

/**
 * Exponentially weighted mean and mean deviation: the estimator of TCP's retransmission time-out
 * (RFC 6298, section 2), which needs three numbers and no memory of single values. The first values
 * count equally in the mean, so that an unusual first one does not decide it for long.
 */
export class MovingAverage {
  readonly #weight: number
  #mean = 0
  #deviation = 0
  #values = 0

  constructor(weight: number = RECENT_WEIGHT) {
    this.#weight = weight
  }

  /** Number of values so far. */
  get count(): number {
    return this.#values
  }

  /** Undefined before the first value. */
  get mean(): number | undefined {
    return this.#values === 0 ? undefined : this.#mean
  }

  /** Number that nearly all values stay below; undefined before the first value. */
  get upperBound(): number | undefined {
    return this.#values === 0 ? undefined : this.#mean + DEVIATIONS * this.#deviation
  }

  add(value: number): void {
    if (this.#values++ === 0) {
      this.#mean = value
      this.#deviation = value / 2
      return
    }
    const error = value - this.#mean
    const equal = this.#values <= FIRST_VALUES ? 1 / this.#values : 0
    this.#mean += Math.max(this.#weight, equal) * error
    this.#deviation += 2 * this.#weight * (Math.abs(error) - this.#deviation)
  }
}
