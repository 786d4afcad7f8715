import * as z from 'zod'
import { computeEarnedValue, EAC_METHODS } from '../evm.ts'

/** Amounts are in one unit of the caller's choice: a currency, or hours of work. */
const Amount = z.number().min(0).max(1e15)

export const EARNED_VALUE_FIELDS = {
  bac: Amount.describe('Budget at completion.'),
  pv: Amount.describe('Planned value: budget of the work planned until now.'),
  ev: Amount.describe('Earned value: budget of the work done until now.'),
  ac: Amount.describe('Actual cost of the work done until now.'),
  etc_bottom_up: Amount.exactOptional().describe(
    'New estimate of the remaining work, for the method bottom_up.',
  ),
}

type EarnedValueInput = z.output<z.ZodObject<typeof EARNED_VALUE_FIELDS>>

/**
 * Finds an amount that exceeds the budget: work is planned and done within it, and only its cost
 * can be higher.
 */
export const findBeyondBudget = ({
  bac,
  pv,
  ev,
}: Pick<EarnedValueInput, 'bac' | 'pv' | 'ev'>): { field: string; message: string } | undefined => {
  const found = Object.entries({ pv, ev }).find(([, value]) => value > bac)
  return found && { field: found[0], message: `must be at most bac, ${bac}` }
}

/** Null where a divisor is zero; `reasons` then has the reason. */
const Metric = z.number().nullable()

const Forecast = z.object({
  method: z.enum(EAC_METHODS),
  formula: z.string(),
  /** Estimate at completion. */
  eac: Metric,
  /** Estimate to complete: EAC - AC. */
  etc: Metric,
  /** Variance at completion: BAC - EAC. */
  vac: Metric,
  /** To-complete performance index: (BAC - EV) / (EAC - AC). */
  tcpi: Metric,
})

export const EarnedValueView = z.object({
  bac: z.number(),
  pv: z.number(),
  ev: z.number(),
  ac: z.number(),
  /** Cost variance: EV - AC. */
  cv: z.number(),
  /** Schedule variance: EV - PV. */
  sv: z.number(),
  /** CV / EV. */
  cv_percent: Metric,
  /** SV / PV. */
  sv_percent: Metric,
  /** Cost performance index: EV / AC. */
  cpi: Metric,
  /** Schedule performance index: EV / PV. */
  spi: Metric,
  /** EV / BAC. */
  complete_percent: Metric,
  /** PV / BAC. */
  planned_percent: Metric,
  /** AC / BAC. */
  spent_percent: Metric,
  /** Estimate at completion by the method cpi, and what follows from it. */
  eac: Metric,
  etc: Metric,
  vac: Metric,
  /** To-complete performance index for the budget: (BAC - EV) / (BAC - AC). */
  tcpi_bac: Metric,
  /** The same for the estimate at completion by the method cpi. */
  tcpi_eac: Metric,
  forecasts: z.array(Forecast),
  /** Why a metric is null, by its name: `cpi`, `forecasts.cpi.eac`. */
  reasons: z.record(z.string(), z.string()),
})

export const viewEarnedValue = (input: EarnedValueInput): z.input<typeof EarnedValueView> => {
  const { bac, pv, ev, ac, etc_bottom_up: etcBottomUp } = input
  const found = computeEarnedValue({ bac, pv, ev, ac, etcBottomUp })
  const [byCpi] = found.forecasts
  const { eac = null, etc = null, vac = null, tcpi: tcpi_eac = null } = byCpi ?? {}
  const reasons = { ...found.reasons }
  for (const [name, of] of Object.entries({
    eac: 'eac',
    etc: 'etc',
    vac: 'vac',
    tcpi_eac: 'tcpi',
  })) {
    const reason = found.reasons[`forecasts.cpi.${of}`]
    if (reason !== undefined) reasons[name] = reason
  }
  return { bac, pv, ev, ac, ...found, ...{ eac, etc, vac, tcpi_eac, reasons } }
}
