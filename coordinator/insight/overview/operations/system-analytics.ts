import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import { countRequests } from '../../../access/quota/usage-query.ts'
import type { CallHourViews } from '../../../calls/invoke/open-call-hours.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import { comparePeriods, type Period } from '../../reports/period.ts'
import { summariseCells } from '../../reports/series-summary.ts'
import { round } from '../../reports/service-metrics.ts'
import { PeriodView, ServiceView, serviceViewOf, viewPeriod } from '../service-view.ts'

const MetricView = z.object({
  mean: figure(z.number().nullable(), 'the cell reported no value in the period'),
  max: figure(z.number().nullable(), 'the cell reported no value in the period'),
  points: z.int().describe('Minutes with a known value.'),
})

/** Limit of cells whose series are read. */
const MAX_CELLS = 200
const CELL_METRICS = ['gpu_percent', 'vram_used_percent', 'slots_busy_percent', 'queued'] as const

export default defineSkill({
  id: 'system-analytics',
  group: 'operations',
  name: 'System analytics',
  description:
    "Analyse 24 hours: the tenant's requests by hour, the operations it called, and the load of each cell.",
  tags: ['operations', 'statistics', 'fleet'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    tenant_id: z.string(),
    period: PeriodView,
    total: ServiceView,
    hours: z.array(ServiceView.extend({ hour: z.iso.datetime() })).describe('Hours with usage.'),
    busiest_hour: z.iso.datetime().nullable(),
    operations: z
      .array(
        z.object({
          id: z.string(),
          calls: z.int(),
          errors: z.int(),
          mean_ms: z.number(),
        }),
      )
      .describe('Skills and operations that the tenant called, the most called first.'),
    cells: z
      .array(
        z.object({
          cell_id: z.string(),
          presence: z.string(),
          gpu_percent: MetricView,
          vram_used_percent: MetricView,
          slots_busy_percent: MetricView,
          queued: MetricView,
        }),
      )
      .describe('Load by the series of each cell; at most 200 cells.'),
  }),
  toLoad: CONNECT_CELL,
  run: async (
    _input,
    context: Context & CallHourViews & FleetViews & MonitorViews & QuotaViews,
  ) => {
    const scope = scopeOf(context)
    const { current } = comparePeriods(context.now())
    const [[total], hours, calls, cells] = await Promise.all([
      context.usage.read({ ...scope, ...current, groupBy: [], limit: 1 }),
      context.usage.read({ ...scope, ...current, groupBy: ['hour'], limit: 24 }),
      context.callHours.read({ ...scope, ...current }),
      readCells(context, current),
    ])
    const busiest = hours.toSorted((a, b) => countRequests(b) - countRequests(a))[0]
    const measured = cells.filter(cell => CELL_METRICS.some(name => cell[name].points > 0))
    return {
      data_state: dataState(hours.length + calls.length + measured.length),
      tenant_id: scope.tenantId,
      period: viewPeriod(current),
      total: serviceViewOf(total),
      hours: hours.map(line => ({ hour: iso(Number(line.hour)), ...serviceViewOf(line) })),
      busiest_hour:
        busiest === undefined || countRequests(busiest) === 0 ? null : iso(Number(busiest.hour)),
      operations: calls.map(({ operationId, calls, errors, durationMs }) => ({
        id: operationId,
        calls,
        errors,
        mean_ms: round(durationMs / calls),
      })),
      cells,
    }
  },
})

const readCells = async ({ fleet, monitor }: FleetViews & MonitorViews, { from }: Period) => {
  const presences = [...fleet.cells()]
    .slice(0, MAX_CELLS)
    .map(each => [each.id, each.presence] as const)
  const ids = presences.map(([id]) => id)
  const metrics = await summariseCells(monitor, ids, CELL_METRICS, from)
  return presences.flatMap(([cell_id, presence]) => {
    const summary = metrics.get(cell_id)
    return summary === undefined ? [] : [{ cell_id, presence, ...summary }]
  })
}
