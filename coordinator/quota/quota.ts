import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { Store } from '../store/store.ts'
import { type Account, enterMonth, isIdle, isLeaseVoid, newAccount, remaining } from './account.ts'
import { createLeases } from './leases.ts'
import { Calendar, monthBefore } from './month.ts'
import { forgetBefore } from './month-ledger.ts'
import { Subjects } from './subjects.ts'
import type { AllowanceName, TierSettings } from './tiers.ts'

/** Subject of a quota: a key by its id, or an address without a key. */
export interface Subject {
  id: string
  tier: AllowanceName
}

export interface Admission {
  /** Gives the request back to month and minute; once, however often it is called. */
  refund(): void
}

export interface Standing {
  /** Per month. */
  limit: number | 'unlimited'
  /** Remaining requests this month, as far as this process knows. */
  remaining: number | 'unlimited'
  /** Unix time in seconds at which the month ends. */
  resetSeconds: number
  /** Remaining requests in the current minute. */
  burst: number
  minuteLimit: number
}

export interface Quota {
  /**
   * Counts one request; `now` is unix milliseconds. Synchronous while the lease has room. Throws
   * or rejects with `tier_exceeded` when the month is used up, `rate_limited` with the seconds to
   * wait when the minute is, `store_unavailable`.
   */
  admit(subject: Subject, now: number): Admission | Promise<Admission>
  /** Standing of the subject, without counting. Synchronous once the subject was seen. */
  standing(subject: Subject, now: number): Standing | Promise<Standing>
  /** Gives idle leases back and forgets idle subjects. */
  sweep(): Promise<void>
  /** Gives all leases back. */
  close(): Promise<void>
}

export interface QuotaOptions {
  store: Pick<Store, 'ledger'>
  tiers: TierSettings
  logger: Pick<Logger, 'warn'>
  /** Milliseconds of a clock that never goes back. */
  ticks?: () => number
  /** Most subjects held in memory, with and without a key each. */
  capacity?: number
}

/** Interval at which an exhausted month is read again: other processes may have returned leases. */
const LOOK_AGAIN_MS = 1000

/**
 * Counts requests against month and minute. The month is counted in the ledger in leased blocks:
 * some requests are reserved there ahead and then spent from memory, so that any number of
 * processes on one store together never pass the limit and few requests wait for the disk. A
 * process that is killed loses the rest of its leases, at most a hundredth of the limit each.
 */
export const createQuota = ({
  store: { ledger },
  tiers,
  logger,
  ticks = () => performance.now(),
  capacity = 50_000,
}: QuotaOptions): Quota => {
  const calendar = new Calendar()
  const leases = createLeases(ledger, calendar)
  const subjects = new Subjects(capacity)
  let tidiedMonth: string | undefined

  const open = ({ id, tier }: Subject, now: number): Account => {
    const month = calendar.advance(now).name
    const account = subjects.get(id, tier) ?? add(newAccount(id, month), tier)
    account.usedAt = ticks()
    enterMonth(account, month)
    return account
  }

  const add = (account: Account, tier: AllowanceName): Account => {
    const evicted = subjects.add(account, tier)
    if (evicted !== undefined) leases.handBack([evicted]).catch(warn)
    return account
  }

  const admit: Quota['admit'] = (subject, now) => {
    const account = open(subject, now)
    return take(account, subject) ?? takeLater(account, subject)
  }

  /** Spends one request, or answers undefined when the ledger must be asked first. */
  const take = (account: Account, { tier }: Subject): Admission | undefined => {
    const at = ticks()
    const limit = monthLimit(tiers, tier)
    const isCounted = limit !== Number.POSITIVE_INFINITY
    const empty = isCounted && (account.lease === 0 || isLeaseVoid(account, limit))
    if (empty && account.exhaustedUntil > at && limit <= account.exhaustedLimit)
      throw exhausted(tier, limit)
    const waitMs = account.minute.waitMs(tiers[tier].requests_per_minute, at)
    if (waitMs > 0) throw tooFast(tier, waitMs)
    if (empty) return undefined
    account.minute.add(at)
    if (limit === Number.POSITIVE_INFINITY) return refundable(() => account.minute.remove(at))
    account.lease--
    const { month } = account
    return refundable(() => {
      account.minute.remove(at)
      if (account.month === month) returnOne(account, tier)
    })
  }

  const returnOne = (account: Account, tier: AllowanceName): void => {
    account.lease++
    account.exhaustedUntil = 0
    if (!subjects.holds(account, tier)) leases.handBack([account]).catch(warn)
  }

  const takeLater = async (account: Account, subject: Subject): Promise<Admission> => {
    account.waiting++
    try {
      for (;;) {
        await refill(account, subject)
        const taken = take(account, subject)
        if (taken !== undefined) return taken
      }
    } finally {
      account.waiting--
      if (!subjects.holds(account, subject.tier)) leases.handBack([account]).catch(warn)
    }
  }

  const refill = (account: Account, { tier }: Subject): Promise<void> => {
    const wanted = () => {
      const room = account.minute.room(tiers[tier].requests_per_minute, ticks())
      return Math.min(account.waiting, room)
    }
    const limit = monthLimit(tiers, tier)
    const refilling = async () => {
      if (isLeaseVoid(account, limit)) await leases.handBack([account])
      const some = await leases.fetch(account, limit, wanted)
      if (some) return
      account.exhaustedUntil = ticks() + LOOK_AGAIN_MS
      account.exhaustedLimit = limit
    }
    account.fetching ??= refilling().finally(() => {
      account.fetching = undefined
    })
    return account.fetching
  }

  const standing: Quota['standing'] = (subject, now) => {
    const account = open(subject, now)
    const known = account.reserved !== undefined
    if (known || tiers[subject.tier].requests_per_month === 'unlimited')
      return describe(account, subject)
    return leases.look(account).then(() => describe(account, subject))
  }

  const describe = (account: Account, { tier }: Subject): Standing => {
    const { requests_per_month: limit, requests_per_minute: minuteLimit } = tiers[tier]
    return {
      limit,
      remaining: limit === 'unlimited' ? limit : remaining(account, limit),
      resetSeconds: calendar.month.endsAt / 1000,
      burst: account.minute.room(minuteLimit, ticks()),
      minuteLimit,
    }
  }

  const sweep: Quota['sweep'] = async () => {
    const idle = subjects.all().filter(account => isIdle(account, ticks()))
    await leases.handBack(idle)
    for (const account of idle) if (isIdle(account, ticks())) subjects.drop(account)
    const { month } = calendar
    if (tidiedMonth === month.name) return
    await ledger.free.write(trx => forgetBefore(trx, monthBefore(month)))
    tidiedMonth = month.name
  }

  const warn = (error: unknown): void =>
    logger.warn({ err: error }, 'quota leases were not given back')

  const exhausted = (tier: AllowanceName, limit: number): ShoalError => {
    const end = new Date(calendar.month.endsAt).toISOString()
    const message = `the ${limit} requests a month of tier ${tier} are used up until ${end}`
    return new ShoalError('tier_exceeded', message)
  }

  const tooFast = (tier: AllowanceName, waitMs: number): ShoalError => {
    const message = `tier ${tier} may start ${tiers[tier].requests_per_minute} requests in 60 s`
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
    return new ShoalError('rate_limited', message, { retryAfterSeconds })
  }

  const close = (): Promise<void> => leases.handBack(subjects.all())

  return { admit, standing, sweep, close }
}

const monthLimit = (tiers: TierSettings, tier: AllowanceName): number => {
  const limit = tiers[tier].requests_per_month
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : limit
}

const refundable = (undo: () => void): Admission => {
  let open = true
  return {
    refund: () => {
      if (open) undo()
      open = false
    },
  }
}
