import * as z from 'zod'
import { DAY_MS, isoOrNull } from '../../../../shared/time.ts'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { costs } from '../../registers/definitions/costs.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { analyseCosts } from '../costs.ts'
import { measureEnergy } from '../energy.ts'
import { dayAt } from '../months.ts'
import type { BusinessViews } from '../open.ts'
import { PERIOD_DAYS, tokensOf } from '../usage.ts'
import { RECORD_STATE, stateOf } from './record-state.ts'
import { readVisibleUsage } from './tenant-facts.ts'

const NO_COSTS = 'the register costs has no records, and no energy was measured and priced'

export default defineSkill({
  id: 'cost-analysis',
  group: 'business',
  name: 'Cost analysis',
  description:
    'Compute the costs of a month by category and tenant, and per 1,000 tokens, with measured energy.',
  tags: ['business', 'finance'],
  access: 'operator',
  roles: ['finance', 'operator_admin'],
  effect: 'read',
  // the price of a configured zone is looked up
  openWorld: true,
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    period_days: z.int().describe('Days of the usage and energy before `as_of`.'),
    total_eur: figure(z.number().nullable().describe('Costs of one month.'), NO_COSTS),
    shared_eur: figure(
      z.number().nullable().describe('Costs that no tenant causes alone.'),
      NO_COSTS,
    ),
    tokens: z.int().describe('Tokens in the period, of the tenants that your key may act for.'),
    cost_per_1000_tokens_eur: figure(
      z.number().nullable().describe('Null without tokens.'),
      'no tokens, or no costs, are recorded in the period',
    ),
    energy: z.object({
      measured_kwh: figure(
        z.number().nullable().describe('Energy of the GPUs; null where not measured.'),
        'no cell reported its power in the period',
      ),
      measured_hours: z.int(),
      price_eur_per_kwh: figure(
        z.number().nullable(),
        'configure business.energy_price_eur_per_kwh or business.energy_price_zone',
      ),
      price_source: z.enum(['configuration', 'energy-price']).nullable(),
      price_taken_at: z.iso.datetime().nullable(),
      cost_eur: figure(z.number().nullable(), 'the energy or its price is not known'),
    }),
    categories: z.array(z.object({ category: z.string(), cost_eur: z.number() })),
    tenants: z.array(
      z.object({
        tenant_id: z.string(),
        tokens: z.int(),
        direct_eur: figure(z.number().nullable(), NO_COSTS),
        shared_eur: figure(
          z.number().nullable().describe('Part of the shared costs, by tokens.'),
          NO_COSTS,
        ),
        cost_eur: figure(z.number().nullable(), NO_COSTS),
      }),
    ),
  }),
  run: async (
    _input,
    context: Context & BusinessViews & MonitorViews & QuotaViews & RegisterViews,
  ) => {
    const scope = scopeOf(context)
    const now = context.now()
    const today = dayAt(now)
    const found = await context.registers.readAll(costs, scope)
    const usage = await readVisibleUsage(context, now)
    const tokensByTenant = new Map([...usage].map(([id, line]) => [id, tokensOf(line)]))
    const energy = await measureEnergy(context, now - PERIOD_DAYS * DAY_MS)
    const price = await context.energyPrice(context.signal)
    const { energy_eur, ...figures } = analyseCosts(found.records, today, {
      tokensByTenant,
      energyKwh: energy.kwh,
      priceEurPerKwh: price?.eurPerKwh ?? null,
    })
    return {
      ...stateOf({ costs: found }, energy.kwh !== null || tokensByTenant.size > 0),
      as_of: today,
      period_days: PERIOD_DAYS,
      ...figures,
      energy: {
        measured_kwh: energy.kwh,
        measured_hours: energy.measuredHours,
        price_eur_per_kwh: price?.eurPerKwh ?? null,
        price_source: price?.source ?? null,
        price_taken_at: isoOrNull(price?.takenAt),
        cost_eur: energy_eur,
      },
    }
  },
})
