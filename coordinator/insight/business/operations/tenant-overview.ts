import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import { figure, nameUnknown } from '../../../../shared/unknown-fields.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { HEALTH_LEVELS } from '../health.ts'
import { toEuros } from '../money.ts'
import { listStandings } from '../revenue.ts'
import { NO_SUBSCRIPTION, RECORD_STATE, stateOf } from './record-state.ts'
import { readTenantFacts } from './tenant-facts.ts'

const MOST_SHOWN = 500
const NO_USAGE = 'no usage of the tenant is recorded here'

export default defineSkill({
  id: 'tenant-overview',
  group: 'business',
  name: 'Tenant overview',
  description: 'List the tenants with their tier, revenue, usage of 30 days and health.',
  tags: ['business', 'tenants'],
  access: 'operator',
  roles: ['finance', 'operator_admin'],
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    total: z.int().describe('Tenants in all; those with the most revenue are listed, at most 500.'),
    tenants: z.array(
      z.object({
        tenant_id: z.string(),
        name: z.string().nullable(),
        tier: z.enum(TIER_NAMES).nullable().describe('Null without an active subscription.'),
        mrr_eur: figure(z.number().nullable(), NO_SUBSCRIPTION),
        since: z.iso.date().nullable().describe('First day of the first subscription.'),
        requests_30_days: figure(z.int().nullable(), NO_USAGE),
        requests_failed_30_days: figure(z.int().nullable(), NO_USAGE),
        tokens_30_days: figure(z.int().nullable(), NO_USAGE),
        health_score: figure(z.int().nullable(), NO_USAGE),
        health_level: figure(z.enum(HEALTH_LEVELS).nullable(), NO_USAGE),
      }),
    ),
  }),
  run: async (_input, context: Context & PeopleViews & QuotaViews & RegisterViews) => {
    const facts = await readTenantFacts(context)
    const standings = listStandings(facts.found.records, facts.today)
    const tenants = []
    const revenueOf = (tenantId: string): number => standings.get(tenantId)?.cents ?? 0
    const shown = facts.tenants.toSorted((a, b) => revenueOf(b) - revenueOf(a)).slice(0, MOST_SHOWN)
    for (const tenantId of shown.toSorted()) {
      const records = facts.byTenant.get(tenantId) ?? []
      const used = await facts.usageOf(tenantId)
      const { score, level } = await facts.healthOf(tenantId)
      const standing = standings.get(tenantId)
      tenants.push({
        tenant_id: tenantId,
        name: records.findLast(({ tenant_name }) => tenant_name !== undefined)?.tenant_name ?? null,
        tier: standing?.tier ?? null,
        mrr_eur: records.length === 0 ? null : toEuros(standing?.cents ?? 0),
        since: records.map(({ started_on }) => started_on).sort()[0] ?? null,
        requests_30_days: used?.requests ?? null,
        requests_failed_30_days: used?.recent.failed ?? null,
        tokens_30_days: used?.tokens ?? null,
        health_score: score,
        health_level: level,
      })
    }
    const unrecorded = tenants.filter(({ mrr_eur }) => mrr_eur === null)
    return {
      ...stateOf({ subscriptions: facts.found }, facts.isUsed),
      unknown: nameUnknown('tenants[].tier', unrecorded.length === 0 ? [] : [NO_SUBSCRIPTION]),
      as_of: facts.today,
      total: facts.tenants.length,
      tenants,
    }
  },
})
