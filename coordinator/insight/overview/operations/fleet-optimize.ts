import * as z from 'zod'
import type { QuotaViews } from '../../../access/quota/open.ts'
import { countRequests } from '../../../access/quota/usage-query.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import { engineReports } from '../../../fleet/cells/cell.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import { isPresent } from '../../../fleet/cells/presence.ts'
import { freeBytesOf } from '../../../fleet/routing/placement.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import { type ObservedCell, optimize, type Recommendation } from '../../reports/optimize.ts'
import { comparePeriods } from '../../reports/period.ts'
import { summariseCells } from '../../reports/series-summary.ts'

const StepView = z.object({
  operation: z.enum(['cells-load', 'cells-unload']),
  method: z.literal('POST'),
  path: z.string(),
  command: z.string().describe('Command line of the same call.'),
  input: z.object({ cell_id: z.string(), model: z.string() }),
})

export default defineSkill({
  id: 'fleet-optimize',
  group: 'operations',
  name: 'Fleet optimization',
  description:
    'Recommend changes of placement, slots and loaded models with their expected effect, and plan the commands that carry them out.',
  tags: ['fleet', 'operations', 'optimization'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    observed: z.object({
      cells: z.int().describe('Cells that are up.'),
      minutes: z.int().describe('Minutes of series that were read.'),
      requests: z.int().describe("Requests of the caller's tenant in 24 hours."),
    }),
    recommendations: z.array(
      z.object({
        kind: z.enum(['placement', 'unload', 'slots', 'imbalance']),
        cell_id: z.string(),
        model: z.string().nullable(),
        reason: z.string(),
        effect: z.array(
          z.object({
            name: z.string(),
            value: z.number(),
            unit: z.enum(['bytes', 'slots', 'percent', 'requests']),
          }),
        ),
        no_step_reason: z
          .string()
          .nullable()
          .describe('Why `plan` has no step for it; null when it has one.'),
      }),
    ),
    plan: z.object({
      dry_run: z.literal(true).describe('Nothing was changed; call each step separately.'),
      steps: z.array(StepView),
    }),
  }),
  toLoad: CONNECT_CELL,
  run: async (_input, context: Context & FleetViews & MonitorViews & QuotaViews) => {
    const { current } = comparePeriods(context.now())
    const [cells, lines] = await Promise.all([
      observeCells(context, current.from),
      context.usage.read({ ...scopeOf(context), ...current, groupBy: ['model'], limit: 1000 }),
    ])
    const requests = new Map(lines.map(line => [String(line.model), countRequests(line)]))
    const recommendations = optimize({ cells, requests })
    return {
      data_state: dataState(cells.length),
      observed: {
        cells: cells.length,
        minutes: cells.reduce((all, cell) => all + cell.slotsBusyPercent.points, 0),
        requests: [...requests.values()].reduce((all, count) => all + count, 0),
      },
      recommendations: recommendations.map(each => ({
        kind: each.kind,
        cell_id: each.cellId,
        model: each.model ?? null,
        reason: each.reason,
        effect: each.effect,
        no_step_reason: each.noStepReason ?? null,
      })),
      plan: { dry_run: true as const, steps: recommendations.flatMap(stepOf) },
    }
  },
})

const stepOf = ({ step }: Recommendation): z.input<typeof StepView>[] => {
  if (step === undefined) return []
  const { operation, input } = step
  const verb = operation === 'cells-load' ? 'load' : 'unload'
  const model = encodeURIComponent(input.model)
  return [
    {
      operation,
      method: 'POST',
      path: `/v1/cells/${input.cell_id}/models/${model}/${verb}`,
      command: `shoal cells ${verb} ${input.cell_id} ${input.model}`,
      input,
    },
  ]
}

/** Most cells whose series are read. */
const MAX_CELLS = 200

const METRICS = ['slots_busy_percent', 'gpu_percent', 'queued'] as const

const observeCells = async (
  { fleet, monitor }: FleetViews & MonitorViews,
  from: number,
): Promise<ObservedCell[]> => {
  const present = [...fleet.cells()].filter(cell => isPresent(cell.presence)).slice(0, MAX_CELLS)
  const ids = present.map(({ id }) => id)
  const summaries = await summariseCells(monitor, ids, METRICS, from)
  return present.flatMap(cell => {
    const metrics = summaries.get(cell.id)
    if (metrics === undefined) return []
    return {
      id: cell.id,
      engines: engineReports(cell),
      freeBytes: cell.sample && freeBytesOf(cell.sample, memoryLimitOf(cell)),
      slotsBusyPercent: metrics.slots_busy_percent,
      gpuPercent: metrics.gpu_percent,
      queued: metrics.queued,
    }
  })
}

/** Limit of the cell in percent, as its engines report it. */
const memoryLimitOf = (cell: Parameters<typeof engineReports>[0]): number | undefined =>
  engineReports(cell).find(report => report.memory_limit_percent !== undefined)
    ?.memory_limit_percent
