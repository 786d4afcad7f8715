import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { subscriptions } from '../../registers/definitions/subscriptions.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { dayAt } from '../months.ts'
import { analyseRevenue } from '../revenue.ts'
import { RECORD_STATE, stateOf } from './record-state.ts'

const MONTHS = 12
const NO_RECORDS = 'the register subscriptions has no records'

const Revenue = {
  tenants: z.int(),
  paying_tenants: z.int(),
  mrr_eur: figure(z.number().nullable(), NO_RECORDS),
  arr_eur: figure(
    z.number().nullable().describe('Twelve times the monthly recurring revenue.'),
    NO_RECORDS,
  ),
}
const Movement = {
  start_mrr_eur: z.number(),
  new_mrr_eur: z.number(),
  reactivation_mrr_eur: z.number(),
  expansion_mrr_eur: z.number(),
  contraction_mrr_eur: z.number(),
  churned_mrr_eur: z.number(),
  end_mrr_eur: z.number(),
  net_revenue_retention_percent: figure(
    z.number().nullable().describe('Null without revenue at the start.'),
    'no subscription had revenue at the start of the period',
    { named: 'empty' },
  ),
}
const Tier = z.enum(TIER_NAMES)

export default defineSkill({
  id: 'arr-analysis',
  group: 'business',
  name: 'Recurring revenue',
  description:
    'Compute monthly and annual recurring revenue, growth, churn and retention by tier and month.',
  tags: ['business', 'finance'],
  access: 'operator',
  roles: ['finance', 'operator_admin'],
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    ...Revenue,
    net_revenue_retention_12_months_percent: figure(
      z.number().nullable(),
      'no subscription had revenue twelve months ago',
      { named: 'empty' },
    ),
    tiers: z.array(z.object({ tier: Tier, ...Revenue })),
    months: z
      .array(
        z.object({
          month: z.string(),
          ...Movement,
          tiers: z.array(z.object({ tier: Tier, ...Movement })),
        }),
      )
      .describe('Oldest first; the last one is the month of `as_of`, up to that day.'),
  }),
  run: async (_input, context: Context & RegisterViews) => {
    const today = dayAt(context.now())
    const found = await context.registers.readAll(subscriptions, scopeOf(context))
    return {
      ...stateOf({ subscriptions: found }),
      as_of: today,
      ...analyseRevenue(found.records, { today, months: MONTHS }),
    }
  },
})
