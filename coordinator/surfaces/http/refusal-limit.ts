import { ShoalError } from '../../../shared/errors.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { MinuteWindow } from '../../kernel/base/minute-window.ts'

const REFUSALS_PER_MINUTE = 30
const CAPACITY = 10_000

interface RefusalLimitParts {
  /** Monotonic clock. */
  ticks?: () => number
  /** Part of the limit that this process may use, as one of several. */
  shareOf?: (limit: number) => number
}

/**
 * Runs the work of an address, unless so many of its requests were refused within 60 seconds that
 * it is guessing: then throws `rate_limited`. Granted requests do not count, so that a whole fleet
 * behind one address can join at once.
 */
export const createRefusalLimit = ({
  ticks = systemRuntime.nowMs,
  shareOf = all => all,
}: RefusalLimitParts = {}) => {
  const windows = new Map<string, MinuteWindow>()

  const count = (address: string): void => {
    const window = windows.get(address) ?? new MinuteWindow()
    windows.delete(address)
    windows.set(address, window)
    window.add(ticks())
    const oldest = windows.size > CAPACITY ? windows.keys().next().value : undefined
    if (oldest !== undefined) windows.delete(oldest)
  }

  return async <T>(address: string, run: () => Promise<T>): Promise<T> => {
    const limit = shareOf(REFUSALS_PER_MINUTE)
    const waitMs = windows.get(address)?.waitMs(limit, ticks()) ?? 0
    if (waitMs > 0)
      throw new ShoalError('rate_limited', 'too many attempts with invalid join tokens', {
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      })
    try {
      return await run()
    } catch (error) {
      if (error instanceof ShoalError && error.code === 'auth_required') count(address)
      throw error
    }
  }
}
