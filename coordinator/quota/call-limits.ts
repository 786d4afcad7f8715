import { ShoalError } from '../../shared/errors.ts'
import { isOperator, type Key } from '../keys/key.ts'
import { MinuteWindow } from './minute-window.ts'

/** Calls of skills and operations in any 60 seconds; they do not count against the month. */
export const CALLS_PER_MINUTE = 60
const OPERATOR_CALLS_PER_MINUTE = 300
const CAPACITY = 10_000

export type CountCall = (id: string, key: Key | undefined) => void

/** Counts one call of this key or address; throws `rate_limited` when the caller asks too often. `ticks` never goes back. */
export const createCallLimits = (ticks: () => number = () => performance.now()): CountCall => {
  const windows = new Map<string, MinuteWindow>()

  const windowOf = (id: string): MinuteWindow => {
    const window = windows.get(id) ?? new MinuteWindow()
    windows.delete(id)
    windows.set(id, window)
    const oldest = windows.size > CAPACITY ? windows.keys().next().value : undefined
    if (oldest !== undefined) windows.delete(oldest)
    return window
  }

  return (id: string, key: Key | undefined): void => {
    const limit = key && isOperator(key) ? OPERATOR_CALLS_PER_MINUTE : CALLS_PER_MINUTE
    const at = ticks()
    const window = windowOf(id)
    const waitMs = window.waitMs(limit, at)
    if (waitMs > 0)
      throw new ShoalError('rate_limited', `${limit} calls a minute are allowed`, {
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      })
    window.add(at)
  }
}
