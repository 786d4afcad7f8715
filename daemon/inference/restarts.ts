import { restartMs } from '../backoff.ts'

const WINDOW_MS = 600_000
const MAX_CRASHES = 5
const MINUTE_MS = 60_000

interface RestartPlan {
  waitMs: number
  /** True when the engine crashes too often to be started again soon. */
  open: boolean
}

/**
 * Counts an engine's crashes and says how long to wait before the next start: 1 s, 2 s, 4 s …
 * at most a minute; after the fifth crash in ten minutes, until the first of them is ten minutes
 * old.
 */
export class Restarts {
  #crashes: number[] = []
  /** Number of crashes since the daemon started. */
  total = 0

  planAfterCrash(now: number): RestartPlan {
    this.total++
    this.#crashes = [...this.#crashes.filter(at => now - at < WINDOW_MS), now]
    const count = this.#crashes.length
    if (count < MAX_CRASHES) return { waitMs: restartMs(count - 1), open: false }
    const first = this.#crashes[count - MAX_CRASHES] as number
    return { waitMs: Math.max(MINUTE_MS, first + WINDOW_MS - now), open: true }
  }
}
