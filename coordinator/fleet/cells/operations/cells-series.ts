import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { MonitorViews } from '../../alerts/open-monitor.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { RESOLUTIONS } from '../../series/resolutions.ts'
import { CellRef } from '../cell-field.ts'
import { METRIC_NAMES, METRICS } from '../metrics.ts'

export default defineOperation({
  id: 'cells-series',
  description: 'Show one metric of a cell over the last hour, day or year.',
  method: 'GET',
  path: '/v1/cells/{cell_id}/series',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    cell_id: CellRef,
    metric: z.enum(METRIC_NAMES),
    resolution: z
      .enum(['10s', '1m', '1h'])
      .default('1m')
      .describe('Resolution of the points: 10s is kept for an hour, 1m for a day, 1h for a year.'),
  }),
  output: z.object({
    cell_id: z.string(),
    metric: z.enum(METRIC_NAMES),
    resolution_seconds: z.int(),
    /** Aggregation of the samples in the span of a point. */
    aggregation: z.enum(['mean', 'max']),
    data_state: DataState,
    /** Oldest first. Spans without a sample are left out; null is a span that did not know it. */
    points: z.array(
      z.object({ at: z.iso.datetime(), value: z.number().nullable(), samples: z.int() }),
    ),
  }),
  run: async (
    { cell_id, metric, resolution },
    { cells, monitor }: EnrolmentViews & MonitorViews,
  ) => {
    if ((await cells.get(cell_id)) === undefined) throw createUnknownError('cell', cell_id)
    const points = await monitor.points(cell_id, metric, resolution)
    return {
      cell_id,
      metric,
      resolution_seconds: RESOLUTIONS[resolution].seconds,
      aggregation: METRICS[metric],
      data_state: dataState(points.length),
      points: points.map(point => ({ ...point, at: new Date(point.at).toISOString() })),
    }
  },
})
