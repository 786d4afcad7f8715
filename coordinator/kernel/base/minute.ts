/**
 * The starts of one subject in the last 60 seconds. Times are milliseconds of a clock that never
 * goes back.
 */
export interface Minute {
  /** Number of requests that may start now, as far as this process knows. */
  room(limit: number, ticks: number): number
  /** Milliseconds until the next may start; 0 when one may start now, or the store must be asked. */
  waitMs(limit: number, ticks: number): number
  /** False when the store must be asked first, with `reserve`. */
  isReady(limit: number, ticks: number): boolean
  /**
   * Asks the store, if necessary; look again at `waitMs` and `isReady` when it resolves. Rejects
   * with `store_unavailable`.
   */
  reserve(limit: number, ticks: number): Promise<void> | undefined
  add(ticks: number): void
  /** Takes back one start that was added at this time. */
  remove(ticks: number): void
}

/** Opens the minute of a subject: a key, an address, or either with a prefix for another limit. */
export type OpenMinute = (subject: string) => Minute
