import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { computeEarnedCost, computePlannedCost, sumCosts } from '../costs.ts'
import type { PlanningViews } from '../open.ts'
import type { Schedule } from '../schedule.ts'
import { Costs, type PricedLine, priceCosts } from './cost-input.ts'
import { COST_VIEW, cents, viewCosts } from './cost-view.ts'
import {
  EARNED_VALUE_FIELDS,
  EarnedValueView,
  findBeyondBudget,
  viewEarnedValue,
} from './earned-value-view.ts'
import { requireBoundedWork, SCHEDULE_FIELDS, type ScheduleInput } from './schedule-input.ts'
import { planSchedule, SCHEDULE_VIEW } from './schedule-view.ts'

const { bac, pv, ev, ac, etc_bottom_up } = EARNED_VALUE_FIELDS

const Input = z
  .strictObject({
    ...SCHEDULE_FIELDS,
    costs: Costs,
    bac: bac.exactOptional().describe('Budget at completion; the total of the costs without it.'),
    pv: pv.exactOptional().describe('Planned value; computed at status_day without it.'),
    ev: ev.exactOptional().describe('Earned value; computed from complete_percent without it.'),
    ac: ac.exactOptional(),
    etc_bottom_up,
    status_day: z
      .number()
      .min(0)
      .max(1e8)
      .exactOptional()
      .describe('Working days since the start, for which planned and earned value are computed.'),
  })
  .superRefine(requireBoundedWork)
type Input = z.output<typeof Input>

export default defineSkill({
  id: 'usecase_cost_calc',
  group: 'planning',
  name: 'Use case costs',
  description:
    'Compute the costs of a project by use case, role and kind, their course over time, its schedule and its earned value.',
  tags: ['planning', 'finance', 'cost', 'earned-value', 'schedule'],
  access: 'key',
  effect: 'read',
  constantBecause: 'It computes from its arguments alone.',
  publishesInput: false,
  input: Input,
  output: z.object({
    ...COST_VIEW,
    schedule: z.object(SCHEDULE_VIEW),
    /** Null when an input is missing. */
    earned_value: EarnedValueView.nullable(),
    /** Inputs that earned value needs and that are neither given nor computed. */
    earned_value_needs: z.array(z.string()),
  }),
  examples: [
    {
      start_date: '2027-03-01',
      tasks: [
        { id: 'pilot', duration_days: 10, use_case: 'invoices', complete_percent: 100 },
        {
          id: 'rollout',
          duration_days: 15,
          depends_on: ['pilot'],
          use_case: 'invoices',
          complete_percent: 20,
        },
      ],
      costs: {
        rates: [
          { role: 'engineer', eur_per_hour: 85 },
          { role: 'analyst', eur_per_hour: 70 },
        ],
        labour: [
          { role: 'engineer', task_id: 'pilot', people: 2 },
          { role: 'engineer', task_id: 'rollout' },
          { role: 'analyst', task_id: 'rollout', hours: 40 },
        ],
        hardware: [{ name: 'GPU server', unit_price_eur: 9000, task_id: 'pilot' }],
        energy: [{ name: 'GPU server', power_watts: 700, hours: 600, eur_per_kwh: 0.3 }],
        cloud: [{ name: 'object storage', unit_price_eur: 45, quantity: 2 }],
        contingency_percent: 10,
      },
      status_day: 12,
      ac: 26_000,
    },
  ],
  run: async (input, context: Context & PlanningViews) => {
    const lines = priceCosts(input.costs, input.tasks)
    const { schedule, view } = await planSchedule(input, context)
    const contingency = input.costs.contingency_percent / 100
    const ids = input.tasks.map(({ id }) => id)
    return {
      ...viewCosts(lines, ids, schedule, contingency),
      schedule: view,
      ...viewProgress(input, lines, schedule, contingency),
    }
  },
})

/**
 * Earned value from what is given, else from the plan: planned and earned value are the shares of
 * the budget that the costs have. Only the actual cost cannot be computed.
 */
const viewProgress = (
  input: Input,
  lines: readonly PricedLine[],
  schedule: Schedule,
  contingency: number,
) => {
  const { status_day: day, etc_bottom_up } = input
  const { total } = sumCosts(lines, 0)
  const { bac = cents(total * (1 + contingency)), ac } = input
  const shareOf = (eur: number): number => (total === 0 ? 0 : cents(bac * Math.min(1, eur / total)))
  const computed =
    day === undefined
      ? {}
      : {
          pv: shareOf(computePlannedCost(lines, schedule, 'earlyStart', day)),
          ev: shareOf(computeEarnedCost(lines, schedule, doneOf(input.tasks), day)),
        }
  const { pv = computed.pv, ev = computed.ev } = input
  if (ac === undefined || pv === undefined || ev === undefined) {
    const needsDay = pv === undefined || ev === undefined
    const needs = [...(needsDay ? ['status_day'] : []), ...(ac === undefined ? ['ac'] : [])]
    return { earned_value: null, earned_value_needs: needs }
  }
  const beyond = findBeyondBudget({ bac, pv, ev })
  if (beyond !== undefined)
    throw new ShoalError('invalid_request', `${beyond.field}: ${beyond.message}`, {
      param: beyond.field,
    })
  const amounts = { bac, pv, ev, ac, ...(etc_bottom_up !== undefined && { etc_bottom_up }) }
  return { earned_value: viewEarnedValue(amounts), earned_value_needs: [] }
}

const doneOf = (tasks: ScheduleInput['tasks']): number[] =>
  tasks.map(({ complete_percent = 0 }) => complete_percent / 100)
