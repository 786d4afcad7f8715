import { ShoalError } from '../../../shared/errors.ts'
import type { Minute, OpenMinute } from '../../kernel/base/minute.ts'
import { MinuteWindow } from '../../kernel/base/minute-window.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import { isOperator } from '../keys/key.ts'

/** Calls of skills and operations in any 60 seconds; they do not count against the month. */
const CALLS_PER_MINUTE = 60
const OPERATOR_CALLS_PER_MINUTE = 300
const CAPACITY = 10_000

/**
 * Counts one call of this key or address; synchronous while the store need not be asked. Throws or
 * rejects with `rate_limited` when the caller asks too often, `store_unavailable`.
 */
export type CountCall = (id: string, key: Key | undefined) => void | Promise<void>

interface CallLimitParts {
  /** Milliseconds of a clock that never goes back. */
  ticks: () => number
  /** Counts minutes; by default for this process alone. */
  openMinute?: OpenMinute
}

export const createCallLimits = ({
  ticks,
  openMinute = () => new MinuteWindow(),
}: CallLimitParts): CountCall => {
  const minutes = new Map<string, Minute>()

  const minuteOf = (id: string): Minute => {
    const minute = minutes.get(id) ?? openMinute(`calls:${id}`)
    minutes.delete(id)
    minutes.set(id, minute)
    const oldest = minutes.size > CAPACITY ? minutes.keys().next().value : undefined
    if (oldest !== undefined) minutes.delete(oldest)
    return minute
  }

  return (id, key) => {
    const limit = key && isOperator(key) ? OPERATOR_CALLS_PER_MINUTE : CALLS_PER_MINUTE
    return startCall(minuteOf(id), limit, ticks)
  }
}

const startCall = (minute: Minute, limit: number, ticks: () => number): void | Promise<void> => {
  const at = ticks()
  const waitMs = minute.waitMs(limit, at)
  if (waitMs > 0)
    throw new ShoalError('rate_limited', `${limit} calls a minute are allowed`, {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    })
  const reserved = minute.reserve(limit, at)
  if (reserved !== undefined) return reserved.then(() => startCall(minute, limit, ticks))
  minute.add(at)
}
