import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'

/** Work that a part repeats. */
export interface PeriodicWork {
  /**
   * Runs `run` every so many seconds until the stack closes; closing waits for a run under way. A
   * failed run is logged and the next one happens; a run is skipped while the one before it, a
   * promise, is pending. Throws TypeError for a name that is taken.
   */
  every(name: string, seconds: number, run: () => unknown): void
}

/** Parts that every domain is opened with. */
export interface Base {
  logger: Logger
  /** Source of every clock, timer, random number, id and connection. */
  runtime: Runtime
  /** Unix time, milliseconds; after the store is open, that of all coordinators on it. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Closings of the parts; they run in reverse order. */
  stack: AsyncDisposableStack
  schedules: PeriodicWork
}
