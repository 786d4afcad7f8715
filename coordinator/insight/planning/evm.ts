/** Amounts of one project at one date, all in the same unit: a currency or hours of work. */
interface EarnedValueInput {
  /** Budget at completion. */
  bac: number
  /** Planned value: budget of the work planned until now. */
  pv: number
  /** Earned value: budget of the work done. */
  ev: number
  /** Actual cost of the work done. */
  ac: number
  /** New estimate of the remaining work, made from its parts. */
  etcBottomUp?: number | undefined
}

/** A finite number, or the reason why there is none. */
type Metric = number | { reason: string }

/** Ways to estimate the cost at completion. */
export const EAC_METHODS = ['cpi', 'budget', 'cpi_spi', 'bottom_up'] as const
type EacMethod = (typeof EAC_METHODS)[number]

const EAC_FORMULAS: Record<EacMethod, string> = {
  cpi: 'BAC / CPI',
  budget: 'AC + BAC - EV',
  cpi_spi: 'AC + (BAC - EV) / (CPI * SPI)',
  bottom_up: 'AC + bottom-up ETC',
}

const NO_BUDGET = 'bac is 0: no budget'
const NO_PLAN = 'pv is 0: no work was planned until now'
const NO_WORK = 'ev is 0: no work is done'

/**
 * Earned value metrics (ANSI/PMI 19-006-2019, Practice Standard for Earned Value Management). A
 * metric whose divisor is zero is null, and `reasons` says why; no metric is infinite.
 */
export const computeEarnedValue = (input: EarnedValueInput) => {
  const { bac, pv, ev, ac } = input
  const reasons: Record<string, string> = {}
  const show: Show = (name, metric) => {
    if (typeof metric === 'number') return roundNoise(metric)
    reasons[name] = metric.reason
    return null
  }
  const cpi = divide(ev, ac, 'ac is 0: nothing was spent')
  const spi = divide(ev, pv, NO_PLAN)
  return {
    cv: roundNoise(ev - ac),
    sv: roundNoise(ev - pv),
    cv_percent: show('cv_percent', divide(100 * (ev - ac), ev, NO_WORK)),
    sv_percent: show('sv_percent', divide(100 * (ev - pv), pv, NO_PLAN)),
    cpi: show('cpi', cpi),
    spi: show('spi', spi),
    complete_percent: show('complete_percent', divide(100 * ev, bac, NO_BUDGET)),
    planned_percent: show('planned_percent', divide(100 * pv, bac, NO_BUDGET)),
    spent_percent: show('spent_percent', divide(100 * ac, bac, NO_BUDGET)),
    tcpi_bac: show('tcpi_bac', computeTcpi(bac - ev, bac - ac, 'bac')),
    forecasts: EAC_METHODS.map(method =>
      viewForecast(method, input, estimate(method, input, cpi, spi), show),
    ),
    reasons,
  }
}

/** The value of a metric; null after its reason was noted under the name. */
type Show = (name: string, metric: Metric) => number | null

/** An estimate at completion, and what follows from it. */
const viewForecast = (
  method: EacMethod,
  { bac, ev, ac }: EarnedValueInput,
  eac: Metric,
  show: Show,
) => {
  const from = (name: string, use: (eac: number) => Metric): number | null =>
    show(`forecasts.${method}.${name}`, map(eac, use))
  return {
    method,
    formula: EAC_FORMULAS[method],
    eac: from('eac', value => value),
    etc: from('etc', value => value - ac),
    vac: from('vac', value => bac - value),
    tcpi: from('tcpi', value => computeTcpi(bac - ev, value - ac, 'eac')),
  }
}

/** Rounds away the noise of binary fractions, and a negative zero. */
const roundNoise = (value: number): number => Number(value.toPrecision(12)) + 0

const divide = (amount: number, by: number, reason: string): Metric => {
  if (by === 0) return { reason }
  const value = amount / by
  return Number.isFinite(value) ? value : { reason: 'the value is too large to be represented' }
}

const map = (metric: Metric, use: (value: number) => Metric): Metric => {
  const result = typeof metric === 'number' ? use(metric) : metric
  const isTooLarge = typeof result === 'number' && !Number.isFinite(result)
  return isTooLarge ? { reason: 'the value is too large to be represented' } : result
}

const estimate = (
  method: EacMethod,
  { bac, ev, ac, etcBottomUp }: EarnedValueInput,
  cpi: Metric,
  spi: Metric,
): Metric => {
  const remaining = bac - ev
  switch (method) {
    case 'budget':
      return ac + remaining
    case 'bottom_up':
      return etcBottomUp === undefined ? { reason: 'etc_bottom_up is not given' } : ac + etcBottomUp
    case 'cpi':
      return map(cpi, value => divide(bac, value, 'cpi is 0: no work is done'))
    case 'cpi_spi':
      return map(cpi, cost =>
        map(spi, time =>
          map(
            divide(remaining, cost * time, 'cpi or spi is 0: no work is done'),
            value => ac + value,
          ),
        ),
      )
  }
}

/** Efficiency that the remaining work needs to end at a total of `bac` or `eac`. */
const computeTcpi = (work: number, money: number, total: 'bac' | 'eac'): Metric => {
  if (money < 0) return { reason: `ac exceeds ${total}: no efficiency reaches it` }
  return divide(work, money, `ac equals ${total}: nothing is left to spend`)
}
