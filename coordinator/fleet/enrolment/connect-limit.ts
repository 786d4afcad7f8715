import { ShoalError } from '../../../shared/errors.ts'
import { MinuteWindow } from '../../kernel/base/minute-window.ts'

/** A daemon in trouble dials each of its two planes some 25 times in the first minute, then 8. */
const CONNECTS_PER_MINUTE = 60
/** Windows that are kept before those without a recent connection are forgotten. */
const CAPACITY = 1000

/**
 * Bounds how often one cell connects. It counts for cells that have proven who they are, so that no
 * other can use up the bound of a cell, and a fleet behind one address can come back at once.
 */
export class ConnectLimit {
  readonly #windows = new Map<string, MinuteWindow>()
  readonly #nowMs: () => number
  /** Size of the map at which windows are forgotten next. */
  #capacity = CAPACITY

  /** @param nowMs monotonic clock */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Counts a connection. Throws `rate_limited` for a cell that has connected too often. */
  note(cellId: string): void {
    const now = this.#nowMs()
    const window = this.#windowOf(cellId, now)
    const waitMs = window.waitMs(CONNECTS_PER_MINUTE, now)
    if (waitMs > 0)
      throw new ShoalError(
        'rate_limited',
        `the cell has connected ${CONNECTS_PER_MINUTE} times within a minute`,
        { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) },
      )
    window.add(now)
  }

  #windowOf(cellId: string, now: number): MinuteWindow {
    const known = this.#windows.get(cellId)
    if (known !== undefined) return known
    if (this.#windows.size >= this.#capacity) this.#forgetEmpty(now)
    const window = new MinuteWindow()
    this.#windows.set(cellId, window)
    return window
  }

  #forgetEmpty(now: number): void {
    for (const [id, window] of this.#windows) if (window.isEmpty(now)) this.#windows.delete(id)
    this.#capacity = Math.max(CAPACITY, 2 * this.#windows.size)
  }
}
