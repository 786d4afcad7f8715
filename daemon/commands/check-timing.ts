import { type Command, type Hazard, MAX_TTL_SECONDS } from '../../shared/wire/command.ts'
import type { Bounds } from './clock.ts'
import { type CommandRefusal, toRejection } from './outcome.ts'

/**
 * Most offset between the cell's and the coordinator's clock for an unsafe command, in
 * milliseconds.
 */
const MAX_OFFSET_MS = 2000

interface Moment {
  /** Unix milliseconds by the cell's wall clock. */
  now: number
  /** Monotonic time since the command arrived, in milliseconds. */
  elapsedMs: number
  /** Bounds of the coordinator's clock; undefined when it was not measured. */
  bounds: Bounds | undefined
}

type Timed = Pick<Command, 'hazard' | 'issued_at' | 'not_before' | 'expires_at'>

/** Reason why a command must not be executed now; undefined when it may. */
export const checkTiming = (command: Timed, moment: Moment): CommandRefusal | undefined => {
  const { hazard, issued_at, not_before, expires_at } = command
  const lifeMs = expires_at - issued_at
  if (lifeMs <= 0 || lifeMs > MAX_TTL_SECONDS * 1000)
    return toRejection(
      'invalid_lifetime',
      `a lifetime of ${lifeMs} ms is not between 0 and one hour`,
    )
  if (hazard === 'unsafe' && !isTrusted(moment))
    return toRejection(
      'clock_untrusted',
      'the clocks of cell and coordinator may be over 2 s apart',
    )
  if (isExpired(hazard, { lifeMs, expires_at }, moment))
    return {
      state: 'expired',
      reason: 'expired',
      message: `its lifetime of ${lifeMs} ms has ended`,
    }
  const latest = Math.max(moment.now, moment.bounds?.latest ?? 0)
  if (latest + MAX_OFFSET_MS < not_before) return toRejection('too_early', 'it is not valid yet')
  return undefined
}

/**
 * True when any clock says that the command has expired. Commands that act on the world must be
 * provably in time, so that the latest possible coordinator time counts; for others the earliest.
 */
const isExpired = (
  hazard: Hazard,
  { lifeMs, expires_at }: { lifeMs: number; expires_at: number },
  { now, elapsedMs, bounds }: Moment,
): boolean => {
  if (elapsedMs >= lifeMs || now > expires_at + MAX_OFFSET_MS) return true
  if (bounds === undefined) return false
  const acts = hazard === 'caution' || hazard === 'unsafe'
  return (acts ? bounds.latest : bounds.earliest) >= expires_at
}

const isTrusted = ({ now, bounds }: Moment): boolean =>
  bounds !== undefined &&
  Math.abs(bounds.earliest - now) <= MAX_OFFSET_MS &&
  Math.abs(bounds.latest - now) <= MAX_OFFSET_MS
