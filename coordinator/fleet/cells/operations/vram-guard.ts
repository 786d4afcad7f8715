import * as z from 'zod'
import { nameUnknown } from '../../../../shared/unknown-fields.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { Cell } from '../cell.ts'
import type { FleetViews } from '../open.ts'
import { isPresent } from '../presence.ts'
import {
  gpuVram,
  VRAM_CRITICAL_PERCENT,
  VRAM_WARN_PERCENT,
  type VramLevel,
  worstLevel,
} from '../vram.ts'

const Level = z.enum(['ok', 'warn', 'critical', 'unknown'] satisfies VramLevel[])

const Gpu = z.object({
  index: z.int(),
  id: z.string(),
  used_bytes: z.number().nullable(),
  total_bytes: z.number().nullable(),
  used_percent: z.number().nullable(),
  level: Level,
  /** The memory is the host's. */
  unified_memory: z.boolean(),
  reason: z.string().nullable().describe('Why its use is unknown; null when it is known.'),
})

export default defineSkill({
  id: 'vram-guard',
  group: 'fleet',
  name: 'VRAM guard',
  description:
    'List the GPUs that are nearly out of memory: warning above 90 percent, critical above 95.',
  tags: ['fleet', 'telemetry', 'alerts'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    warn_above_percent: z.number(),
    critical_above_percent: z.number(),
    /** GPUs at the level warn or critical, the fullest first. */
    alerts: z.array(Gpu.extend({ cell_id: z.string() })),
    /** Every cell that is up and has a GPU, with the worst level of its GPUs. */
    cells: z.array(z.object({ cell_id: z.string(), level: Level, gpus: z.array(Gpu) })),
  }),
  toLoad: 'connect a cell that has a GPU; none that is up reports one (docs/cells.md)',
  run: (_input, { fleet }: FleetViews) => {
    const cells = [...fleet.cells()].flatMap(viewOf)
    const alerts = cells
      .flatMap(cell => cell.gpus.map(gpu => ({ ...gpu, cell_id: cell.cell_id })))
      .filter(({ level }) => level === 'warn' || level === 'critical')
      .sort((a, b) => (b.used_percent ?? 0) - (a.used_percent ?? 0))
    return {
      data_state: dataState(cells.length),
      warn_above_percent: VRAM_WARN_PERCENT,
      critical_above_percent: VRAM_CRITICAL_PERCENT,
      alerts,
      cells,
      unknown: listUnknownMemory(cells),
    }
  },
})

const viewOf = (cell: Cell) => {
  const gpus = isPresent(cell.presence) ? (cell.sample?.gpus ?? []).map(gpuVram) : []
  if (gpus.length === 0) return []
  return [
    {
      cell_id: cell.id,
      level: worstLevel(gpus),
      gpus: gpus.map(gpu => ({
        index: gpu.index,
        id: gpu.id,
        used_bytes: gpu.usedBytes,
        total_bytes: gpu.totalBytes,
        used_percent: gpu.usedPercent,
        level: gpu.level,
        unified_memory: gpu.unifiedMemory,
        reason: gpu.reason,
      })),
    },
  ]
}

const MEMORY = ['used_bytes', 'total_bytes', 'used_percent'] as const

/** Unknown figures of all GPUs, each once; every GPU has its own reason beside it. */
const listUnknownMemory = (cells: ReturnType<typeof viewOf>) =>
  MEMORY.flatMap(name =>
    nameUnknown(
      `cells[].gpus[].${name}`,
      cells.flatMap(({ cell_id, gpus }) =>
        gpus
          .filter(gpu => gpu[name] === null)
          .map(({ index, reason }) => `GPU ${index} of cell ${cell_id}: ${reason}`),
      ),
    ),
  )
