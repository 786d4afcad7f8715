import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { OpenMinute } from '../../kernel/base/minute.ts'
import { MinuteWindow } from '../../kernel/base/minute-window.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import {
  type Account,
  countRemaining,
  enterMonth,
  isIdle,
  isLeaseVoid,
  newAccount,
} from './account.ts'
import { createQuotaLeases } from './leases.ts'
import { Calendar, monthBefore } from './month.ts'
import { forgetBefore } from './month-ledger.ts'
import { type LeaseRecalls, NO_RECALLS } from './recalls.ts'
import { Subjects } from './subjects.ts'
import type { AllowanceName, TierSettings } from './tiers.ts'

/** Subject of a quota: a key by its id, or an address without a key. */
export interface QuotaSubject {
  id: string
  tier: AllowanceName
}

export interface Admission {
  /** Gives the request back to month and minute; once, however often it is called. */
  refund(): void
}

export interface QuotaStatus {
  /** Requests per month. */
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
  admit(subject: QuotaSubject, now: number): Admission | Promise<Admission>
  /** Standing of the subject, without counting. Synchronous once the subject was seen. */
  standing(subject: QuotaSubject, now: number): QuotaStatus | Promise<QuotaStatus>
  /** Gives idle leases back and forgets idle subjects. */
  sweep(): Promise<void>
  /** Gives back the leases that other processes need. */
  returnRecalled(): Promise<void>
  /** Gives all leases back. */
  close(): Promise<void>
}

interface QuotaOptions {
  store: Pick<Store, 'ledger'>
  tiers: TierSettings
  logger: Pick<Logger, 'warn'>
  /** Milliseconds of a clock that never goes back. */
  ticks: () => number
  /** Most subjects held in memory, with and without a key each. */
  capacity?: number
  /** Counts minutes; by default for this process alone. */
  openMinute?: OpenMinute
  /** Number of processes that lease from this store. */
  countReplicas?: () => number
  recalls?: LeaseRecalls
}

/** Interval at which an exhausted month is read again: other processes may have returned leases. */
const LOOK_AGAIN_MS = 1000

/**
 * Counts requests against month and minute. The month is counted in the ledger in leased blocks:
 * some requests are reserved there ahead and then spent from memory, so that any number of
 * processes on one store together never pass the limit and few requests wait for the disk. A
 * process that is killed loses the rest of its leases, at most a hundredth of the limit each.
 */
export class LeasedQuota implements Quota {
  readonly #ledger: Ledger
  readonly #tiers: TierSettings
  readonly #logger: QuotaOptions['logger']
  readonly #ticks: () => number
  readonly #calendar = new Calendar()
  readonly #leases: ReturnType<typeof createQuotaLeases>
  readonly #subjects: Subjects
  readonly #openMinute: OpenMinute
  readonly #recalls: LeaseRecalls
  #tidiedMonth: string | undefined

  constructor(options: QuotaOptions) {
    this.#ledger = options.store.ledger
    this.#tiers = options.tiers
    this.#logger = options.logger
    this.#ticks = options.ticks
    const { countReplicas = () => 1 } = options
    this.#leases = createQuotaLeases({
      ledger: this.#ledger,
      calendar: this.#calendar,
      countReplicas,
    })
    this.#recalls = options.recalls ?? NO_RECALLS
    this.#subjects = new Subjects(options.capacity ?? 50_000)
    this.#openMinute = options.openMinute ?? (() => new MinuteWindow())
  }

  admit = (subject: QuotaSubject, now: number): Admission | Promise<Admission> => {
    const account = this.#open(subject, now)
    return this.#take(account, subject) ?? this.#takeLater(account, subject)
  }

  standing = (subject: QuotaSubject, now: number): QuotaStatus | Promise<QuotaStatus> => {
    const account = this.#open(subject, now)
    const isKnown = account.reserved !== undefined
    if (isKnown || this.#tiers[subject.tier].requests_per_month === 'unlimited')
      return this.#describe(account, subject)
    return this.#leases.look(account).then(() => this.#describe(account, subject))
  }

  sweep = async (): Promise<void> => {
    const idle = this.#subjects.list().filter(account => isIdle(account, this.#ticks()))
    await this.#leases.handBack(idle)
    for (const account of idle) if (isIdle(account, this.#ticks())) this.#subjects.drop(account)
    const { month } = this.#calendar
    if (this.#tidiedMonth === month.name) return
    await this.#ledger.free.write(trx => forgetBefore(trx, monthBefore(month)))
    this.#tidiedMonth = month.name
  }

  returnRecalled = async (): Promise<void> => {
    if (!this.#subjects.list().some(({ lease }) => lease > 0)) return
    for (const id of await this.#recalls.list())
      await this.#leases.handBack(this.#subjects.find(id).filter(({ waiting }) => waiting === 0))
  }

  close = (): Promise<void> => this.#leases.handBack(this.#subjects.list())

  #open({ id, tier }: QuotaSubject, now: number): Account {
    const month = this.#calendar.advance(now).name
    const account = this.#subjects.get(id, tier) ?? this.#add(id, month, tier)
    account.usedAt = this.#ticks()
    enterMonth(account, month)
    return account
  }

  #add(id: string, month: string, tier: AllowanceName): Account {
    const account = newAccount(id, month, this.#openMinute(id))
    const evicted = this.#subjects.add(account, tier)
    if (evicted !== undefined) this.#handBack(evicted)
    return account
  }

  /** Returns a lease in the background; what fails is lost to this month's count. */
  #handBack(account: Account): void {
    this.#leases
      .handBack([account])
      .catch(error => this.#logger.warn({ err: error }, 'quota leases were not returned'))
  }

  /** Spends one request; undefined when the store must be asked first. */
  #take(account: Account, { tier }: QuotaSubject): Admission | undefined {
    const at = this.#ticks()
    const limit = monthLimit(this.#tiers, tier)
    const isCounted = limit !== Number.POSITIVE_INFINITY
    const isEmpty = isCounted && (account.lease === 0 || isLeaseVoid(account, limit))
    if (isEmpty && account.exhaustedUntil > at && limit <= account.exhaustedLimit)
      throw this.#createExhaustedError(tier, limit)
    const minuteLimit = this.#tiers[tier].requests_per_minute
    const waitMs = account.minute.waitMs(minuteLimit, at)
    if (waitMs > 0) throw this.#createTooFastError(tier, waitMs)
    if (isEmpty || !account.minute.isReady(minuteLimit, at)) return undefined
    account.minute.add(at)
    if (!isCounted) return refundable(() => account.minute.remove(at))
    account.lease--
    const { month } = account
    return refundable(() => {
      account.minute.remove(at)
      if (account.month === month) this.#returnOne(account, tier)
    })
  }

  #returnOne(account: Account, tier: AllowanceName): void {
    account.lease++
    account.exhaustedUntil = 0
    if (!this.#subjects.holds(account, tier)) this.#handBack(account)
  }

  async #takeLater(account: Account, subject: QuotaSubject): Promise<Admission> {
    account.waiting++
    try {
      for (;;) {
        const minuteLimit = this.#tiers[subject.tier].requests_per_minute
        const minute = account.minute.reserve(minuteLimit, this.#ticks())
        await (minute ?? this.#refill(account, subject))
        const taken = this.#take(account, subject)
        if (taken !== undefined) return taken
      }
    } finally {
      account.waiting--
      if (!this.#subjects.holds(account, subject.tier)) this.#handBack(account)
    }
  }

  #refill(account: Account, { tier }: QuotaSubject): Promise<void> {
    account.fetching ??= this.#fetch(account, tier).finally(() => {
      account.fetching = undefined
    })
    return account.fetching
  }

  /** Other processes are asked once for what they hold, before the month counts as used up. */
  async #fetch(account: Account, tier: AllowanceName): Promise<void> {
    const limit = monthLimit(this.#tiers, tier)
    const hasReturns = !account.isExhausted || limit > account.exhaustedLimit
    const untilTicks = this.#ticks() + (hasReturns ? this.#recalls.patienceMs() : 0)
    account.isExhausted = !(await this.#fetchUntil(account, tier, untilTicks))
    if (!account.isExhausted) return
    account.exhaustedUntil = this.#ticks() + LOOK_AGAIN_MS
    account.exhaustedLimit = limit
  }

  /** False when nothing is left, not even at the end of the wait. */
  async #fetchUntil(account: Account, tier: AllowanceName, untilTicks: number): Promise<boolean> {
    const limit = monthLimit(this.#tiers, tier)
    const countWanted = (): number => {
      const room = account.minute.room(this.#tiers[tier].requests_per_minute, this.#ticks())
      return Math.min(account.waiting, room)
    }
    if (isLeaseVoid(account, limit)) await this.#leases.handBack([account])
    while (!(await this.#leases.fetch(account, limit, countWanted))) {
      if (this.#ticks() >= untilTicks) return false
      await this.#recalls.recall(account.id)
      // one of this process may have been refunded meanwhile
      if (account.lease > 0) return true
    }
    return true
  }

  #describe(account: Account, { tier }: QuotaSubject): QuotaStatus {
    const { requests_per_month: limit, requests_per_minute: minuteLimit } = this.#tiers[tier]
    return {
      limit,
      remaining: limit === 'unlimited' ? limit : countRemaining(account, limit),
      resetSeconds: this.#calendar.month.endsAt / 1000,
      burst: account.minute.room(minuteLimit, this.#ticks()),
      minuteLimit,
    }
  }

  #createExhaustedError(tier: AllowanceName, limit: number): ShoalError {
    const end = new Date(this.#calendar.month.endsAt).toISOString()
    const message = `the ${limit} requests a month of tier ${tier} are used up until ${end}`
    return new ShoalError('tier_exceeded', message)
  }

  #createTooFastError(tier: AllowanceName, waitMs: number): ShoalError {
    const { requests_per_minute } = this.#tiers[tier]
    const message = `tier ${tier} may start ${requests_per_minute} requests in 60 s`
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
    return new ShoalError('rate_limited', message, { retryAfterSeconds })
  }
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
