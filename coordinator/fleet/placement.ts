import type { EngineReport, Sample } from '../../shared/wire/telemetry.ts'
import type { Rank } from './engine.ts'

/** Above this share of its memory a cell loads nothing, when it does not say otherwise. */
const LIMIT_PERCENT = 95

export const STEP = { loading: 1, fits: 2, unknown: 3, evicts: 4, refused: 5 } as const

/**
 * How well a cell suits a model that it has not loaded: best where it will be ready soonest, then
 * where most memory stays free beside it, where nobody knows, where others would have to go for it,
 * and at last where it found no room before.
 */
export const rankOf = (report: EngineReport, sample: Sample | undefined): Rank => {
  const { state, memory_bytes, remaining_seconds, reason } = report
  if (state === 'loading') return [STEP.loading, remaining_seconds ?? Number.MAX_SAFE_INTEGER]
  if (reason !== undefined) return [STEP.refused, 0]
  const limitPercent = report.memory_limit_percent ?? LIMIT_PERCENT
  const freeBytes = sample && freeBytesOf(sample, limitPercent)
  if (freeBytes === undefined || memory_bytes === undefined) return [STEP.unknown, 0]
  const restBytes = freeBytes - memory_bytes
  return [restBytes < 0 ? STEP.evicts : STEP.fits, -restBytes]
}

export const compareRanks = (a: Rank, b: Rank): number => a[0] - b[0] || a[1] - b[1]

/** Of the GPUs, or of the host where there is none with memory of its own; as the cell counts it. */
const freeBytesOf = ({ gpus, host }: Sample, limitPercent: number): number | undefined => {
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
