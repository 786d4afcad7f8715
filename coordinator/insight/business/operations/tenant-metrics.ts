import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import { HOUR_MS } from '../../../../shared/time.ts'
import { figure, nameUnknown } from '../../../../shared/unknown-fields.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import { countRequests } from '../../../access/quota/usage-query.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { subscriptions } from '../../registers/definitions/subscriptions.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { percentOf, roundTo } from '../money.ts'
import { dayAt, monthOf } from '../months.ts'
import { listStandings } from '../revenue.ts'
import { NO_SUBSCRIPTION, RECORD_STATE, stateOf } from './record-state.ts'

const MAX_MODELS = 1000

export default defineSkill({
  id: 'tenant-metrics',
  group: 'business',
  name: 'Metrics of your tenant',
  description: 'Show the requests, errors and tokens of your tenant in this month, by model.',
  tags: ['business', 'usage'],
  access: 'key',
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    tenant_id: z.string(),
    tier: z.enum(TIER_NAMES).nullable().describe('Tier by its active subscription; null without.'),
    requests: z.int(),
    requests_failed: z.int(),
    error_percent: figure(z.number().nullable(), 'no request was recorded in this month'),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    mean_duration_ms: figure(z.number().nullable(), 'no request was recorded in this month'),
    models: z.array(z.object({ model: z.string(), requests: z.int(), total_tokens: z.int() })),
  }),
  run: async (_input, context: Context & QuotaViews & RegisterViews) => {
    const scope = scopeOf(context)
    const { tenantId } = scope
    const now = context.now()
    const today = dayAt(now)
    const own = await context.registers.readMatching(subscriptions, scope, 'tenant_id', tenantId)
    const lines = await context.usage.read({
      from: Date.parse(monthOf(today)),
      to: Math.ceil((now + 1) / HOUR_MS) * HOUR_MS,
      tenantId,
      groupBy: ['model'],
      limit: MAX_MODELS,
    })
    const sum = (pick: (line: (typeof lines)[number]) => number): number =>
      lines.reduce((total, line) => total + pick(line), 0)
    const requests = sum(countRequests)
    const failed = sum(line => line.failed)
    return {
      ...stateOf({ subscriptions: own }, lines.length > 0),
      as_of: today,
      tenant_id: tenantId,
      unknown: nameUnknown('tier', own.records.length === 0 ? [NO_SUBSCRIPTION] : []),
      tier: listStandings(own.records, today).get(tenantId)?.tier ?? null,
      requests,
      requests_failed: failed,
      error_percent: percentOf(failed, requests),
      prompt_tokens: sum(line => line.prompt_tokens),
      completion_tokens: sum(line => line.completion_tokens),
      mean_duration_ms:
        requests === 0 ? null : roundTo(sum(line => line.duration_ms) / requests, 1),
      models: lines.map(line => ({
        model: String(line.model),
        requests: countRequests(line),
        total_tokens: line.prompt_tokens + line.completion_tokens,
      })),
    }
  },
})
