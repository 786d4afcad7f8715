import { systemRuntime } from './runtime.ts'

/** Parameters of the exponential back-off between attempts. */
export interface BackOff {
  firstMs: number
  /** Growth from one pause to the next; 2 by default. */
  factor?: number
  maxMs: number
  /**
   * Bounds of the random multiplier of a pause, so that failures are not retried together;
   * none by default.
   */
  jitter?: readonly [least: number, most: number]
}

/** Jitter between half of a pause and the whole. */
export const HALF_JITTER = [0.5, 1] as const

/** Milliseconds of the pause before retry n (from 0). `random` is in [0, 1). */
export const backOffMs = (
  { firstMs, factor = 2, maxMs, jitter: [least, most] = [1, 1] }: BackOff,
  retry: number,
  random: () => number = systemRuntime.random,
): number => {
  const longest = Math.min(maxMs, firstMs * factor ** retry)
  return least === most ? longest : longest * (least + (most - least) * random())
}
