import { Listeners } from '../../kernel/base/listeners.ts'

/** Calls of one operation that this coordinator has answered since it started. */
interface CallMetrics {
  calls: number
  errors: number
  /** Median latency of the newest calls, in milliseconds; undefined before the first. */
  p50Ms: number | undefined
  p95Ms: number | undefined
}

/** A call that has ended. */
export interface EndedCall {
  operationId: string
  /** Tenant of the key; undefined without a key. */
  tenantId: string | undefined
  durationMs: number
  failed: boolean
}

export interface CallStats {
  add(call: EndedCall): void
  /** Reports every call after it was counted. Returns how to stop that. */
  onCall(listener: (call: EndedCall) => void): () => void
  metricsFor(operationId: string): CallMetrics
}

/** Number of newest durations that the percentiles are computed from. */
const KEPT_DURATIONS = 256

interface Tally {
  calls: number
  errors: number
  /** Ring buffer: the newest entry is at `calls` modulo its length. */
  durationsMs: number[]
}

/** Counts in memory, a bounded amount for each operation, so that it may stand in every call. */
export const createCallStats = (): CallStats => {
  const tallies = new Map<string, Tally>()

  const tallyOf = (id: string): Tally => {
    const tally = tallies.get(id) ?? { calls: 0, errors: 0, durationsMs: [] }
    tallies.set(id, tally)
    return tally
  }
  const calls = new Listeners<[EndedCall]>()
  const add: CallStats['add'] = call => {
    const { operationId, durationMs, failed } = call
    const tally = tallyOf(operationId)
    tally.durationsMs[tally.calls % KEPT_DURATIONS] = durationMs
    tally.calls++
    if (failed) tally.errors++
    calls.notify(call)
  }
  const metricsFor: CallStats['metricsFor'] = id => {
    const { calls, errors, durationsMs } = tallies.get(id) ?? NONE
    const sorted = durationsMs.toSorted((a, b) => a - b)
    return { calls, errors, p50Ms: percentile(sorted, 50), p95Ms: percentile(sorted, 95) }
  }
  return { add, metricsFor, onCall: calls.add }
}

const NONE: Tally = { calls: 0, errors: 0, durationsMs: [] }

/** The nearest rank: the smallest value that at least `share` percent do not exceed. */
const percentile = (sorted: number[], share: number): number | undefined =>
  sorted[Math.max(0, Math.ceil((share / 100) * sorted.length) - 1)]
