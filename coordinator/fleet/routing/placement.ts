import type { EngineReport, Sample } from '../../../shared/wire/telemetry.ts'
import type { Rank } from './engine.ts'

/** Default memory limit in percent, above which a cell loads no model. */
const LIMIT_PERCENT = 95

export const STEP = { loading: 1, fits: 2, unknown: 3, evicts: 4, refused: 5 } as const

/**
 * Ranks a cell for a model that it has not loaded. Best is a cell that is loading it, soonest ready
 * first; then one with room, most free memory first; then one whose memory is unknown; then one
 * that must evict other models; last one that found no room before.
 */
export const rankOf = (report: EngineReport, sample: Sample | undefined): Rank => {
  const { state, memory_bytes, remaining_seconds, reason } = report
  if (state === 'loading') return [STEP.loading, remaining_seconds ?? Number.MAX_SAFE_INTEGER]
  if (reason !== undefined) return [STEP.refused, 0]
  const freeBytes = sample && freeBytesOf(sample, report.memory_limit_percent)
  if (freeBytes === undefined || memory_bytes === undefined) return [STEP.unknown, 0]
  const restBytes = freeBytes - memory_bytes
  return [restBytes < 0 ? STEP.evicts : STEP.fits, -restBytes]
}

export const compareRanks = (a: Rank, b: Rank): number => a[0] - b[0] || a[1] - b[1]

/**
 * Free memory of the GPUs, or of the host when no GPU has its own, computed as the cell computes
 * it.
 */
export const freeBytesOf = (
  { gpus, host }: Sample,
  limitPercent = LIMIT_PERCENT,
): number | undefined => {
  const own = gpus.filter(gpu => !gpu.unified_memory && gpu.vram_total_bytes !== null)
  const parts =
    own.length > 0
      ? own.map(gpu => [gpu.vram_total_bytes, gpu.vram_used_bytes] as const)
      : [[host.memory_total_bytes, host.memory_used_bytes] as const]
  let freeBytes = 0
  for (const [total, used] of parts) {
    if (total === null || used === null) return undefined
    freeBytes += (total * limitPercent) / 100 - used
  }
  return freeBytes
}
