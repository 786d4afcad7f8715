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
  /** Reason why its use is unknown; null when it is known. */
  reason: string | null
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
    reason: usedPercent === null ? whyUnknown(gpu) : null,
  }
}

const whyUnknown = (gpu: GpuSample): string => {
  if (gpu.mig_enabled === true)
    return 'the GPU is partitioned into MIG instances, whose memory is measured separately'
  if (gpu.vram_total_bytes === 0) return 'the driver reports a memory of 0 bytes'
  const missing =
    gpu.vram_total_bytes !== null ? 'use' : gpu.vram_used_bytes !== null ? 'size' : 'size and use'
  return gpu.unified_memory
    ? `the GPU shares the memory of its host, and the ${missing} of that is not reported`
    : `the driver does not report the ${missing} of the memory`
}

const ORDER: readonly VramLevel[] = ['critical', 'warn', 'unknown', 'ok']

/** Worst level of a cell's GPUs; `unknown` when it has none. */
export const worstLevel = (gpus: readonly Pick<GpuVram, 'level'>[]): VramLevel =>
  ORDER.find(level => gpus.some(gpu => gpu.level === level)) ?? 'unknown'
