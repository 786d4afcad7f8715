import type { Minute } from '../../kernel/base/minute.ts'

/** Local state of one subject. */
export interface Account {
  id: string
  month: string
  /** Requests that are reserved in the ledger and not spent. */
  lease: number
  /** The limit it was reserved under. */
  leaseLimit: number
  /** Requests that all processes had reserved when last seen; undefined before the first look. */
  reserved: number | undefined
  minute: Minute
  /** Callers that wait for a lease. */
  waiting: number
  fetching: Promise<void> | undefined
  /** Time (ticks) before which an exhausted month is not read again. */
  exhaustedUntil: number
  /** True when the last look found nothing left, not even after the others were asked. */
  isExhausted: boolean
  /** The limit that was used up; a larger one is looked up at once. */
  exhaustedLimit: number
  /** Ticks. */
  usedAt: number
}

export const newAccount = (id: string, month: string, minute: Minute): Account => ({
  id,
  month,
  lease: 0,
  leaseLimit: 0,
  reserved: undefined,
  minute,
  waiting: 0,
  fetching: undefined,
  exhaustedUntil: 0,
  isExhausted: false,
  exhaustedLimit: 0,
  usedAt: 0,
})

/** Begins a month. What was leased in the one before has no use any more. */
export const enterMonth = (account: Account, month: string): void => {
  if (account.month === month) return
  account.month = month
  account.lease = 0
  account.reserved = undefined
  account.exhaustedUntil = 0
  account.isExhausted = false
}

/** Adds to what is leased, and so to what is reserved. */
export const addLease = (account: Account, requests: number): void => {
  account.lease += requests
  if (account.reserved !== undefined) account.reserved += requests
}

/** Remaining requests of the month: unreserved, or leased by this process. */
export const countRemaining = ({ reserved = 0, lease }: Account, limit: number): number =>
  reserved <= limit ? limit - reserved + lease : Math.max(0, limit - (reserved - lease))

/** A lease granted under a larger limit does not hold under a smaller one. */
export const isLeaseVoid = ({ lease, leaseLimit }: Account, limit: number): boolean =>
  lease > 0 && limit < leaseLimit

const IDLE_MS = 60_000

export const isIdle = ({ waiting, usedAt }: Account, ticks: number): boolean =>
  waiting === 0 && ticks - usedAt >= IDLE_MS
