import * as z from 'zod'
import type { CostLine } from '../costs.ts'
import { refuseInput } from '../refuse-input.ts'
import { Label, type ScheduleInput, TaskId } from './schedule-input.ts'

const Price = z.number().min(0).max(1e9)
const Quantity = z.number().min(0).max(1e6)
const MAX_LINES = 2000

/** What a cost line belongs to. */
const PLACE = {
  task_id: TaskId.exactOptional().describe('Task that causes the cost; the project without it.'),
  use_case: Label.exactOptional().describe('Use case; that of the task without it.'),
}

const Rate = z.strictObject({ role: Label, eur_per_hour: Price })

const Labour = z.strictObject({
  role: Label.describe('Role with a rate in `rates`.'),
  hours: Quantity.exactOptional().describe('Without it, the duration of the task.'),
  people: Quantity.default(1).describe('Factor of the hours; 0.5 is half of the time.'),
  ...PLACE,
})

const Purchase = z.strictObject({
  name: Label,
  unit_price_eur: Price,
  quantity: Quantity.default(1),
  ...PLACE,
})

const Energy = z.strictObject({
  name: Label,
  power_watts: Price.describe('Mean electrical power.'),
  hours: Quantity,
  eur_per_kwh: Price,
  ...PLACE,
})

const lines = <T extends z.ZodType>(line: T) => z.array(line).max(MAX_LINES).default([])

export const Costs = z.strictObject({
  rates: z.array(Rate).max(200).default([]).describe('Hourly rate of each role.'),
  hours_per_day: z.number().positive().max(24).default(8).describe('Hours of a working day.'),
  labour: lines(Labour),
  hardware: lines(Purchase).describe('Purchases, paid at the start of the task.'),
  energy: lines(Energy),
  cloud: lines(Purchase).describe('Rented services, paid evenly while the task lasts.'),
  contingency_percent: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe('Reserve for known risks, added to each cost.'),
})
export type Costs = z.output<typeof Costs>

/** A cost line with what the totals by role and of energy need. */
export interface PricedLine extends CostLine {
  role?: string
  hours?: number
  kwh?: number
}

/**
 * Prices all cost lines.
 * @throws ShoalError `invalid_request` with the field, for a role without a rate, an unknown task,
 *   and labour without hours and task
 */
export const priceCosts = (costs: Costs, tasks: ScheduleInput['tasks']): PricedLine[] => {
  const place = placeOf(tasks)
  const rates = ratesOf(costs)
  return [
    ...costs.labour.map((line, at): PricedLine => {
      const { role, people } = line
      const rate = rates.get(role)
      if (rate === undefined)
        return refuseInput(`costs.labour.${at}.role`, `no rate for ${role}; add it to costs.rates`)
      const placed = place(line, `costs.labour.${at}`)
      const days = placed.task === undefined ? undefined : tasks[placed.task]?.duration_days
      const planned = days === undefined ? undefined : days * costs.hours_per_day
      const each = line.hours ?? planned
      if (each === undefined)
        return refuseInput(`costs.labour.${at}.hours`, 'is needed for labour without task_id')
      const hours = each * people
      return { kind: 'labour', eur: hours * rate, role, hours, ...placed }
    }),
    ...(['hardware', 'cloud'] as const).flatMap(kind =>
      costs[kind].map((line, at) => ({
        ...{ kind, eur: line.unit_price_eur * line.quantity },
        ...place(line, `costs.${kind}.${at}`),
      })),
    ),
    ...costs.energy.map((line, at) => {
      const kwh = (line.power_watts * line.hours) / 1000
      const eur = kwh * line.eur_per_kwh
      return { kind: 'energy' as const, eur, kwh, ...place(line, `costs.energy.${at}`) }
    }),
  ]
}

const ratesOf = ({ rates }: Costs): ReadonlyMap<string, number> => {
  const known = new Map<string, number>()
  rates.forEach(({ role, eur_per_hour }, at) => {
    if (known.has(role)) refuseInput(`costs.rates.${at}.role`, `${role} is given twice`)
    known.set(role, eur_per_hour)
  })
  return known
}

type Placed = Pick<CostLine, 'task' | 'useCase'>

const placeOf = (tasks: ScheduleInput['tasks']) => {
  const indexes = new Map(tasks.map(({ id }, at) => [id, at]))
  return (
    { task_id, use_case }: { task_id?: string; use_case?: string },
    param: string,
  ): Placed => {
    const task = task_id === undefined ? undefined : indexes.get(task_id)
    if (task_id !== undefined && task === undefined)
      return refuseInput(`${param}.task_id`, `no task has the id ${task_id}`)
    return { task, useCase: use_case ?? (task === undefined ? undefined : tasks[task]?.use_case) }
  }
}
