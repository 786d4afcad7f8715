import * as z from 'zod'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import type { MonitorViews } from '../../alerts/open-monitor.ts'
import { UTILIZATION_FIGURES } from '../utilization-figures.ts'

export default defineSkill({
  id: 'fleet-utilization',
  group: 'fleet',
  name: 'Fleet utilization',
  description:
    'Show the utilization of the fleet: GPUs, their memory, slots and requests per hour.',
  tags: ['fleet', 'telemetry'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    ...UTILIZATION_FIGURES,
    /** Inference requests that were completed within the last hour. */
    items_per_hour: z.int(),
    /** Cells that are up: ready, degraded or draining. */
    active_cells: z.int(),
    /** Engines that failed requests lately and get one at a time until one succeeds. */
    unreliable_engines: z.int(),
    /** Time of the computation: at most a minute ago, and after the last cell joined or left. */
    refreshed_at: z.iso.datetime(),
  }),
  toLoad: CONNECT_CELL,
  run: (_input, { monitor }: MonitorViews) => {
    const now = monitor.utilization()
    return {
      data_state: dataState(now.activeCells),
      composite_percent: now.compositePercent,
      gpu_percent: now.gpuPercent,
      vram_percent: now.vramPercent,
      slots_busy_percent: now.slotsPercent,
      items_per_hour: now.itemsPerHour,
      active_cells: now.activeCells,
      unreliable_engines: now.unreliableEngines,
      refreshed_at: new Date(now.refreshedAt).toISOString(),
    }
  },
})
