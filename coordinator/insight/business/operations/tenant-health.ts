import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { HEALTH_LEVELS } from '../health.ts'
import { RECORD_STATE, stateOf } from './record-state.ts'
import { readTenantFacts } from './tenant-facts.ts'

export default defineSkill({
  id: 'tenant-health',
  group: 'business',
  name: 'Tenant health',
  description:
    'Score one tenant from 0 to 100 by its subscription, errors and usage, with reasons.',
  tags: ['business', 'tenants'],
  access: 'operator',
  roles: ['finance', 'operator_admin'],
  effect: 'read',
  input: z.strictObject({
    tenant_id: Id.exactOptional().describe(
      'Tenant in the register of subscriptions; your own tenant by default.',
    ),
  }),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    tenant_id: z.string(),
    score: figure(
      z.int().nullable().describe('100 less the points of all reasons; null without data.'),
      'no usage of this tenant is recorded here',
    ),
    level: figure(z.enum(HEALTH_LEVELS).nullable(), 'no usage of this tenant is recorded here'),
    reasons: z.array(z.object({ code: z.string(), points: z.int(), message: z.string() })),
  }),
  run: async ({ tenant_id }, context: Context & PeopleViews & QuotaViews & RegisterViews) => {
    const facts = await readTenantFacts(context)
    const own = scopeOf(context).tenantId
    const tenantId = tenant_id ?? own
    const isKnown = facts.tenants.includes(tenantId)
    if (!isKnown && tenantId !== own)
      throw createUnknownError('tenant', tenantId, {
        where: 'in the register subscriptions',
        next: 'shoal registers list subscriptions',
      })
    const records = facts.byTenant.get(tenantId) ?? []
    const health = isKnown ? await facts.healthOf(tenantId) : NO_HEALTH
    return {
      ...stateOf({ subscriptions: { ...facts.found, records } }, isKnown),
      as_of: facts.today,
      tenant_id: tenantId,
      ...health,
    }
  },
})

const NO_HEALTH = { score: null, level: null, reasons: [] }
