import * as z from 'zod'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { UsageLine } from '../../../access/quota/usage-query.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { USE_MODEL } from '../../../kernel/declaration/to-load.ts'
import { comparePeriods } from '../../reports/period.ts'
import {
  computeChangePercent,
  computeDifference,
  metricsOf,
} from '../../reports/service-metrics.ts'
import { PeriodView, ServiceView, serviceViewOf, viewPeriod } from '../service-view.ts'

const Change = z.object({
  requests_percent: figure(z.number().nullable(), 'one of the two periods has no value to compare'),
  ttft_p50_percent: figure(z.number().nullable(), 'one of the two periods has no value to compare'),
  ttft_p95_percent: figure(z.number().nullable(), 'one of the two periods has no value to compare'),
  tokens_per_second_percent: figure(
    z.number().nullable(),
    'one of the two periods has no value to compare',
  ),
  error_percentage_points: figure(
    z.number().nullable(),
    'one of the two periods has no value to compare',
  ),
})

export default defineSkill({
  id: 'performance-report',
  group: 'operations',
  name: 'Performance report',
  description:
    "Report time to first token, tokens per second and errors of the tenant's inference over 24 hours, against the 24 hours before.",
  tags: ['operations', 'inference', 'report'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    tenant_id: z.string(),
    period: PeriodView,
    previous_period: PeriodView,
    current: ServiceView,
    /** Null when there was no request in the previous period. */
    previous: ServiceView.nullable(),
    /** Differences to the previous period; null where either figure is unknown. */
    change: Change,
    /** Models with requests in either period, the most used first. */
    models: z.array(
      z.object({
        model: z.string(),
        current: ServiceView.nullable(),
        previous: ServiceView.nullable(),
        change: Change,
      }),
    ),
  }),
  toLoad: USE_MODEL,
  run: async (_input, context: Context & QuotaViews) => {
    const { tenantId } = scopeOf(context)
    const { current, previous } = comparePeriods(context.now())
    const read = (period: typeof current, groupBy: readonly 'model'[]) =>
      context.usage.read({ ...period, tenantId, groupBy, limit: MOST_MODELS })
    const [[now], [before], modelsNow, modelsBefore] = await Promise.all([
      read(current, []),
      read(previous, []),
      read(current, ['model']),
      read(previous, ['model']),
    ])
    const nowOf = byModel(modelsNow)
    const beforeOf = byModel(modelsBefore)
    const models = [...new Set([...nowOf.keys(), ...beforeOf.keys()])]
    return {
      data_state: dataState(modelsNow.length + modelsBefore.length),
      tenant_id: tenantId,
      period: viewPeriod(current),
      previous_period: viewPeriod(previous),
      current: serviceViewOf(now),
      previous: before === undefined ? null : serviceViewOf(before),
      change: compare(now, before),
      models: models
        .map(model => ({
          model,
          current: viewOrNull(nowOf.get(model)),
          previous: viewOrNull(beforeOf.get(model)),
          change: compare(nowOf.get(model), beforeOf.get(model)),
        }))
        .toSorted((a, b) => (b.current?.requests ?? 0) - (a.current?.requests ?? 0)),
    }
  },
})

/** More than a catalogue has. */
const MOST_MODELS = 1000

const byModel = (lines: readonly UsageLine[]): Map<string, UsageLine> =>
  new Map(lines.map(line => [String(line.model), line]))

const viewOrNull = (line: UsageLine | undefined) =>
  line === undefined ? null : serviceViewOf(line)

const compare = (
  now: UsageLine | undefined,
  before: UsageLine | undefined,
): z.input<typeof Change> => {
  const [a, b] = [now && metricsOf(now), before && metricsOf(before)]
  return {
    requests_percent: computeChangePercent(a?.requests ?? null, b?.requests ?? null),
    ttft_p50_percent: computeChangePercent(a?.ttftP50Ms ?? null, b?.ttftP50Ms ?? null),
    ttft_p95_percent: computeChangePercent(a?.ttftP95Ms ?? null, b?.ttftP95Ms ?? null),
    tokens_per_second_percent: computeChangePercent(
      a?.tokensPerSecond ?? null,
      b?.tokensPerSecond ?? null,
    ),
    error_percentage_points: computeDifference(a?.errorPercent ?? null, b?.errorPercent ?? null),
  }
}
