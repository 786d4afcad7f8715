import * as z from 'zod'
import { figure } from '../../../shared/unknown-fields.ts'
import type { MonitorViews } from '../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../fleet/cells/open.ts'
import { isPresent } from '../../fleet/cells/presence.ts'
import { UTILIZATION_FIGURES } from '../../fleet/cells/utilization-figures.ts'
import { gpuVram } from '../../fleet/cells/vram.ts'
import type { ModelViews } from '../../fleet/models/open.ts'
import { DataState, dataState } from '../../kernel/declaration/data-state.ts'
import type { QueueViews } from '../../kernel/queue/open.ts'

/** The fleet at one instant. */
export const FleetOverview = z.object({
  data_state: DataState,
  degraded: z.boolean().describe('True after more than half of the fleet was lost at once.'),
  cells: z.int().describe('Cells that were announced to this coordinator.'),
  active_cells: z.int().describe('Cells that are up: ready, degraded or draining.'),
  ...UTILIZATION_FIGURES,
  items_per_hour: z.int().describe('Inference requests completed within the last hour.'),
  models_served: z.int(),
  models_missing: z.array(z.string()).describe('Models of the catalogue that no cell serves.'),
})

export const overviewOf = ({
  fleet,
  monitor,
  catalogue,
}: Pick<FleetViews, 'fleet'> & Pick<ModelViews, 'catalogue'> & MonitorViews): z.input<
  typeof FleetOverview
> => {
  const cells = [...fleet.cells()]
  const missing = catalogue.filter(({ id }) => !fleet.serves(id)).map(({ id }) => id)
  const used = monitor.utilization()
  return {
    data_state: dataState(cells.length),
    degraded: monitor.isDegraded(),
    cells: cells.length,
    active_cells: cells.filter(cell => isPresent(cell.presence)).length,
    composite_percent: used.compositePercent,
    gpu_percent: used.gpuPercent,
    vram_percent: used.vramPercent,
    slots_busy_percent: used.slotsPercent,
    items_per_hour: used.itemsPerHour,
    models_served: catalogue.length - missing.length,
    models_missing: missing,
  }
}

/** A GPU above a threshold of used memory. */
export const VramAlert = z.object({
  cell_id: z.string(),
  gpu_index: z.int(),
  used_percent: figure(z.number().nullable(), 'the cell does not report the memory of this GPU'),
  level: z.enum(['warn', 'critical']),
})

export const vramAlertsOf = ({ fleet }: Pick<FleetViews, 'fleet'>): z.input<typeof VramAlert>[] =>
  [...fleet.cells()]
    .filter(cell => isPresent(cell.presence))
    .flatMap(cell =>
      (cell.sample?.gpus ?? [])
        .map(gpuVram)
        .flatMap(({ index, usedPercent, level }) =>
          level === 'warn' || level === 'critical'
            ? [{ cell_id: cell.id, gpu_index: index, used_percent: usedPercent, level }]
            : [],
        ),
    )

/** Jobs of the caller's tenant and of the service. */
export const QueueOverview = z.object({
  data_state: DataState,
  queued: z.int(),
  running: z.int(),
  done: z.int(),
  dead: z.int().describe('Dead letters: jobs that failed for good.'),
  cancelled: z.int(),
})

export const queueOverviewOf = async (
  { queue }: QueueViews,
  scope: { tenantId: string },
): Promise<z.input<typeof QueueOverview>> => {
  const counts = { queued: 0, running: 0, done: 0, dead: 0, cancelled: 0 }
  const lines = await queue.board(scope)
  for (const { state, jobs } of lines) counts[state] += jobs
  return { data_state: dataState(lines.length), ...counts }
}
