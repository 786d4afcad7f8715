import type { ThroughputMeasurement } from '../protocol.ts'

export interface Limits {
  slots: number
  threads: number
}

/** Values to choose from; a single one where the configuration fixes it. */
interface Candidates {
  slots: readonly number[]
  threads: readonly number[]
}

const SLOTS = [1, 2, 4, 8, 16]

/**
 * One core is left to this process and the system: with all of them busy, an engine that waits for
 * its slowest thread collapses. Half of them, because two threads of one core share what computes.
 */
export const listTuningCandidates = (
  fixed: { slots: number | undefined; threads: number | undefined },
  cores: number,
): Candidates => ({
  slots: fixed.slots === undefined ? SLOTS : [fixed.slots],
  threads:
    fixed.threads === undefined
      ? [...new Set([Math.max(1, cores - 1), Math.max(1, Math.floor(cores / 2))])]
      : [fixed.threads],
})

/** Speeds that differ less than this are the same: a measurement is short. */
const SAME = 0.95

/**
 * The most slots that cost no speed, because they let more people in; then the fewest threads.
 * Undefined of nothing.
 */
export const chooseLimits = (rows: readonly ThroughputMeasurement[]): Limits | undefined => {
  const best = Math.max(...rows.map(row => row.tokensPerSecond))
  const [chosen] = rows
    .filter(row => row.tokensPerSecond >= SAME * best)
    .sort((a, b) => b.slots - a.slots || a.threads - b.threads)
  return chosen && { slots: chosen.slots, threads: chosen.threads }
}
