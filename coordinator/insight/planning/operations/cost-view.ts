import * as z from 'zod'
import { type CostTotals, computePlannedCost, listCurveDays, sumCosts } from '../costs.ts'
import type { Schedule } from '../schedule.ts'
import type { PricedLine } from './cost-input.ts'

const Totals = z.object({
  labour_eur: z.number(),
  hardware_eur: z.number(),
  energy_eur: z.number(),
  cloud_eur: z.number(),
  contingency_eur: z.number(),
  total_eur: z.number(),
})

const CurvePoint = z.object({
  /** Working days since the start of the project. */
  day: z.number(),
  /** Date of the last day of work until then; null without start_date. */
  date: z.string().nullable(),
  /** Cumulative planned cost with contingency, with all tasks at their early times. */
  planned_eur: z.number(),
  /** The same at the late times, which delay nothing. */
  planned_late_eur: z.number(),
})

export const COST_VIEW = {
  totals: Totals,
  energy_kwh: z.number(),
  /** Null is what belongs to no use case. */
  use_cases: z.array(Totals.extend({ use_case: z.string().nullable() })),
  /** Labour by role, without contingency. */
  roles: z.array(z.object({ role: z.string(), hours: z.number(), eur: z.number() })),
  /** Costs of each task, and of the project as a whole (null), with contingency. */
  task_costs: z.array(z.object({ task_id: z.string().nullable(), total_eur: z.number() })),
  /** S curve, at most 101 points. */
  cost_curve: z.array(CurvePoint),
}
const CostView = z.object(COST_VIEW)

/** @param contingency share of the costs, from 0 to 1 */
export const viewCosts = (
  lines: readonly PricedLine[],
  taskIds: readonly string[],
  schedule: Schedule,
  contingency: number,
): z.input<typeof CostView> => ({
  totals: viewTotals(sumCosts(lines, contingency)),
  energy_kwh: cents(sum(lines, ({ kwh = 0 }) => kwh)),
  use_cases: [...Map.groupBy(lines, ({ useCase }) => useCase)].map(([useCase, own]) => ({
    use_case: useCase ?? null,
    ...viewTotals(sumCosts(own, contingency)),
  })),
  roles: [...Map.groupBy(lines, ({ role }) => role)].flatMap(([role, own]) =>
    role === undefined
      ? []
      : [
          {
            role,
            hours: cents(sum(own, ({ hours = 0 }) => hours)),
            eur: cents(sum(own, ({ eur }) => eur)),
          },
        ],
  ),
  task_costs: [...Map.groupBy(lines, ({ task }) => task)].map(([task, own]) => ({
    task_id: task === undefined ? null : (taskIds[task] ?? null),
    total_eur: cents(sumCosts(own, contingency).total),
  })),
  cost_curve: listCurveDays(schedule.times.durationDays).map(day => {
    const until = (starts: 'earlyStart' | 'lateStart'): number =>
      cents(computePlannedCost(lines, schedule, starts, day) * (1 + contingency))
    const date = schedule.calendar?.finishDate(day) ?? null
    return { day, date, planned_eur: until('earlyStart'), planned_late_eur: until('lateStart') }
  }),
})

const viewTotals = (totals: CostTotals): z.input<typeof Totals> => ({
  labour_eur: cents(totals.labour),
  hardware_eur: cents(totals.hardware),
  energy_eur: cents(totals.energy),
  cloud_eur: cents(totals.cloud),
  contingency_eur: cents(totals.contingency),
  total_eur: cents(totals.total),
})

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0)

/** Euros in whole cents, or another amount with two decimals. */
export const cents = (value: number): number => Math.round(value * 100) / 100
