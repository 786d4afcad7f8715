import { Registry } from 'prom-client'
import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { askForMetrics } from '../../questions/cell-metrics.ts'
import { CellRef } from '../cell-field.ts'
import type { FleetViews } from '../open.ts'

export default defineOperation({
  id: 'cells-metrics',
  description: 'Return the metrics of a cell and its engines in Prometheus text format.',
  method: 'GET',
  path: '/v1/cells/{cell_id}/metrics',
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 10,
  input: z.strictObject({ cell_id: CellRef }),
  output: z.object({
    content_type: z.string(),
    text: z.string().describe('Metrics in Prometheus text format, at most 4 MiB.'),
  }),
  text: { body: 'text', type: 'content_type', types: ['text/plain'] },
  run: async ({ cell_id }, { fleet, signal }: Context & FleetViews) => ({
    content_type: Registry.PROMETHEUS_CONTENT_TYPE,
    text: await askForMetrics(fleet, cell_id, signal),
  }),
})
