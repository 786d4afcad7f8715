import type { PlannedTask } from './network.ts'

/** Shapes of the duration of a task between its optimistic and its pessimistic value. */
export const DISTRIBUTIONS = ['beta', 'triangular'] as const
export type Distribution = (typeof DISTRIBUTIONS)[number]

/** Optimistic, most likely and pessimistic value, ascending. */
export interface ThreePoint {
  optimistic: number
  likely: number
  pessimistic: number
}

/** The estimate of a task; all three values are its duration where it has no others. */
export const estimateOf = ({
  durationDays,
  optimisticDays = durationDays,
  pessimisticDays = durationDays,
}: PlannedTask): ThreePoint => ({
  optimistic: optimisticDays,
  likely: durationDays,
  pessimistic: pessimisticDays,
})

/** Expected value of PERT (Malcolm, Roseboom, Clark and Fazar, 1959). */
export const computeExpectedDays = ({ optimistic, likely, pessimistic }: ThreePoint): number =>
  (optimistic + 4 * likely + pessimistic) / 6

/** Standard deviation of PERT: a sixth of the range. */
export const deviationDays = ({ optimistic, pessimistic }: ThreePoint): number =>
  (pessimistic - optimistic) / 6

/** Distribution function of the normal distribution; absolute error below 1.5e-7. */
export const normalCdf = (value: number, mean: number, deviation: number): number => {
  if (deviation === 0) return value < mean ? 0 : 1
  const x = Math.abs(value - mean) / (deviation * Math.SQRT2)
  // Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26
  const t = 1 / (1 + 0.3275911 * x)
  const sum =
    t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const tail = (sum * Math.exp(-x * x)) / 2
  return value < mean ? tail : 1 - tail
}

/** Cells of a quantile table. */
export const QUANTILE_CELLS = 512

/**
 * Quantiles of the duration at 0, 1/512, 2/512 … 1. Between two of them a sampler interpolates, so
 * that every distribution costs the same.
 */
export const createQuantileTable = (
  { optimistic, likely, pessimistic }: ThreePoint,
  distribution: Distribution,
): Float64Array => {
  const range = pessimistic - optimistic
  if (range === 0) return new Float64Array(QUANTILE_CELLS + 1).fill(likely)
  const mode = (likely - optimistic) / range
  const unit =
    distribution === 'beta' ? computeBetaQuantiles(mode) : computeTriangularQuantiles(mode)
  return unit.map(quantile => optimistic + range * quantile)
}

const computeTriangularQuantiles = (mode: number): Float64Array =>
  new Float64Array(QUANTILE_CELLS + 1).map((_, at) => {
    const u = at / QUANTILE_CELLS
    return u < mode ? Math.sqrt(u * mode) : 1 - Math.sqrt((1 - u) * (1 - mode))
  })

/** Cells of the grid on which a beta density is integrated. */
const DENSITY_CELLS = 1024
const LOGS = new Float64Array(2 * DENSITY_CELLS + 1).map((_, at) =>
  Math.log(at / (2 * DENSITY_CELLS)),
)

/** Quantiles of the beta distribution of PERT: its parameters are 1 + 4 mode and 5 - 4 mode. */
const computeBetaQuantiles = (mode: number): Float64Array => {
  const cumulative = new Float64Array(DENSITY_CELLS + 1)
  for (let cell = 0; cell < DENSITY_CELLS; cell++) {
    const at = 2 * cell
    // Simpson's rule
    const area = density(mode, at) + 4 * density(mode, at + 1) + density(mode, at + 2)
    cumulative[cell + 1] = (cumulative[cell] as number) + area
  }
  const total = cumulative[DENSITY_CELLS] as number
  let cell = 0
  return new Float64Array(QUANTILE_CELLS + 1).map((_, at) => {
    const wanted = (at / QUANTILE_CELLS) * total
    while (cell < DENSITY_CELLS - 1 && (cumulative[cell + 1] as number) < wanted) cell++
    const below = cumulative[cell] as number
    const part = (wanted - below) / ((cumulative[cell + 1] as number) - below)
    return (cell + part) / DENSITY_CELLS
  })
}

/** Density at a point of the grid and of its middles, up to a factor. */
const density = (mode: number, at: number): number => {
  const [left, right] = [4 * mode, 4 * (1 - mode)]
  const log = LOGS[at] as number
  const rest = LOGS[2 * DENSITY_CELLS - at] as number
  // 0 times the logarithm of 0 stands for the zeroth power
  return Math.exp((left === 0 ? 0 : left * log) + (right === 0 ? 0 : right * rest))
}
