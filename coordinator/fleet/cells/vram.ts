import type { GpuSample } from '../../../shared/wire/telemetry.ts'
import { vramPercent } from './metrics.ts'

/** Thresholds in percent; above, not at, the value. */
export const VRAM_WARN_PERCENT = 90
export const VRAM_CRITICAL_PERCENT = 95

/** Level of memory use. `unknown` is not `ok`: there may be no room. */
export type VramLevel = 'ok' | 'warn' | 'critical' | 'unknown'

export const vramLevel = (usedPercent: number | null): VramLevel => {
  if (usedPercent === null) return 'unknown'
  if (usedPercent > VRAM_CRITICAL_PERCENT) return 'critical'
  return usedPercent > VRAM_WARN_PERCENT ? 'warn' : 'ok'
}

interface GpuVram {
  index: number
  id: string
  usedBytes: number | null
  totalBytes: number | null
  usedPercent: number | null
  level: VramLevel
  /** True when the memory is the host's, shared with everything else that runs there. */
  unifiedMemory: boolean
}

export const gpuVram = (gpu: GpuSample): GpuVram => {
  const usedPercent = vramPercent(gpu)
  return {
    index: gpu.index,
    id: gpu.id,
    usedBytes: gpu.vram_used_bytes,
    totalBytes: gpu.vram_total_bytes,
    usedPercent,
    level: vramLevel(usedPercent),
    unifiedMemory: gpu.unified_memory,
  }
}

const ORDER: readonly VramLevel[] = ['critical', 'warn', 'unknown', 'ok']

/** Worst level of a cell's GPUs; `unknown` when it has none. */
export const worstLevel = (gpus: readonly Pick<GpuVram, 'level'>[]): VramLevel =>
  ORDER.find(level => gpus.some(gpu => gpu.level === level)) ?? 'unknown'
