import { createHash } from 'node:crypto'
import { Cron } from 'croner'
import { ShoalError } from '../../../shared/errors.ts'
import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'

/** A recurring time: a cron expression in a time zone, spread by a jitter. */
export interface Recurrence {
  /** Five or six fields, or `@hourly` and its like (crontab(5); seconds are the optional first field). */
  expression: string
  /** IANA name such as `Europe/Berlin`. */
  timeZone: string
  /** Upper bound of the fixed delay that is added to each planned time, in seconds. */
  jitterSeconds: number
}

/** Fire times of an outage that are counted one by one; a longer outage is counted as this many. */
const MAX_COUNTED = 10_000
const COUNTED_PER_TURN = 32

/** Throws `invalid_request` for an expression or a time zone that cannot be read, or never fires. */
export const requireRecurrence = ({ expression, timeZone }: Recurrence, now: number): void => {
  if (findNextTime({ expression, timeZone }, now) !== undefined) return
  throw new ShoalError('invalid_request', `expression: ${expression} never fires`, {
    param: 'expression',
  })
}

/**
 * First planned time after `after`, without jitter, in Unix milliseconds; undefined when there is
 * none. A local time that daylight saving skips fires at the end of the gap, and one that occurs
 * twice fires once.
 */
export const findNextTime = (
  { expression, timeZone }: Pick<Recurrence, 'expression' | 'timeZone'>,
  after: number,
): number | undefined => cronOf(expression, timeZone).nextRun(new Date(after))?.getTime()

/**
 * Number of planned times in (after, until], at most 10,000. Each takes croner a tenth of a
 * millisecond and more, so the event loop gets its turn between a few of them.
 */
export const countPlanned = async (
  { expression, timeZone }: Recurrence,
  after: number,
  until: number,
): Promise<number> => {
  const cron = cronOf(expression, timeZone)
  let count = 0
  let at = cron.nextRun(new Date(after))
  while (at !== null && at.getTime() <= until && count < MAX_COUNTED) {
    count++
    if (count % COUNTED_PER_TURN === 0) await nextTurn(systemRuntime)
    at = cron.nextRun(at)
  }
  return count
}

/** Delay of a schedule in milliseconds: the same for a name at each run, different between names. */
export const jitterMs = (name: string, jitterSeconds: number): number =>
  jitterSeconds === 0
    ? 0
    : createHash('sha256').update(name).digest().readUInt32BE(0) % (jitterSeconds * 1000)

const cronOf = (expression: string, timeZone: string): Cron => {
  try {
    const cron = new Cron(expression, { timezone: timeZone, paused: true })
    cron.nextRun()
    return cron
  } catch (cause) {
    const param = isTimeZone(timeZone) ? 'expression' : 'time_zone'
    const value = param === 'expression' ? expression : timeZone
    throw new ShoalError('invalid_request', `${param}: cannot read ${JSON.stringify(value)}`, {
      param,
      cause,
    })
  }
}

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
