import * as z from 'zod'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { CallHourViews } from '../../../calls/invoke/open-call-hours.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { USE_MODEL } from '../../../kernel/declaration/to-load.ts'
import type { QueueViews } from '../../../kernel/queue/open.ts'
import { comparePeriods } from '../../reports/period.ts'
import { INDICATOR_RESULTS, rateQuality } from '../../reports/quality.ts'
import { gatherQualityFacts } from '../quality-facts.ts'
import { PeriodView, viewPeriod } from '../service-view.ts'

const Result = z.enum(INDICATOR_RESULTS)

export default defineSkill({
  id: 'quality-report',
  group: 'operations',
  name: 'Quality report',
  description:
    'Rate the quality of service over 24 hours: errors, first token, retries, calls, jobs, approvals, alerts and engines against their targets.',
  tags: ['operations', 'quality', 'report'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    tenant_id: z.string(),
    period: PeriodView,
    counts: z.record(Result, z.int()).describe('Number of indicators by result.'),
    indicators: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        value: figure(
          z.number().nullable().describe('Null when nothing was measured.'),
          'nothing was measured for this indicator in the period',
        ),
        unit: z.string(),
        measured: z.int().describe('Number of things that the value was computed from.'),
        target: z.number(),
        limit: z.number().describe('Beyond it the indicator fails.'),
        better: z.enum(['lower', 'higher']),
        result: Result,
      }),
    ),
  }),
  toLoad: USE_MODEL,
  run: async (
    _input,
    context: Context &
      CallHourViews &
      FleetViews &
      GateViews &
      MonitorViews &
      QueueViews &
      QuotaViews,
  ) => {
    const { current } = comparePeriods(context.now())
    const indicators = rateQuality(await gatherQualityFacts(context, current))
    const counts = { pass: 0, warn: 0, fail: 0, unknown: 0 }
    for (const { result } of indicators) counts[result]++
    return {
      data_state: dataState(indicators.length - counts.unknown),
      tenant_id: scopeOf(context).tenantId,
      period: viewPeriod(current),
      counts,
      indicators,
    }
  },
})
