import { type Command, type Hazard, MAX_TTL_SECONDS } from '../../shared/wire/command.ts'
import type { Bounds } from './clock.ts'
import { type Refusal, rejected } from './outcome.ts'

/** How far the cell's clock and the coordinator's may be apart for an unsafe command, ms. */
export const MAX_OFFSET_MS = 2000

export interface Moment {
  /** Unix milliseconds by the cell's own clock. */
  now: number
  /** Time since the command came, by a clock that never goes back, milliseconds. */
  elapsedMs: number
  /** Where the coordinator's clock stands; undefined when it was not measured. */
  bounds: Bounds | undefined
}

type Timed = Pick<Command, 'hazard' | 'issued_at' | 'not_before' | 'expires_at'>

/** Why a command must not be carried out at this moment, or undefined when it may. */
export const untimely = (command: Timed, moment: Moment): Refusal | undefined => {
  const { hazard, issued_at, not_before, expires_at } = command
  const lifeMs = expires_at - issued_at
  if (lifeMs <= 0 || lifeMs > MAX_TTL_SECONDS * 1000)
    return rejected('invalid_lifetime', `a life of ${lifeMs} ms is not between 0 and an hour`)
  if (hazard === 'unsafe' && !isTrusted(moment))
    return rejected('clock_untrusted', 'the clocks of cell and coordinator may be over 2 s apart')
  if (isExpired(hazard, { lifeMs, expires_at }, moment))
    return { state: 'expired', reason: 'expired', message: `its life of ${lifeMs} ms is over` }
  const latest = Math.max(moment.now, moment.bounds?.latest ?? 0)
  if (latest + MAX_OFFSET_MS < not_before) return rejected('too_early', 'its time has not come')
  return undefined
}

/**
 * Over when any clock says so. What acts must surely be in time, so the latest possible time of
 * the coordinator counts; for the others the earliest.
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
