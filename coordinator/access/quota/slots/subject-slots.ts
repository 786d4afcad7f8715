import type { SlotClock } from './slot-clock.ts'
import { type SlotCount, type SlotGrant, type SlotWish, WINDOW_SLOTS } from './slot-grant.ts'

/** Starts of this coordinator in one slot. */
interface Part {
  slot: number
  /** Starts that were granted. */
  granted: number
  spent: number
  /** Count in the store, as far as known. */
  stored: number
  /** Ticks from which nothing of it may be spent. */
  endTicks: number
  /** Ticks of the first start. */
  firstTicks: number
}

interface Wanted {
  subject: string
  limit: number
  waiting: number | undefined
}

/** A subject whose limit is reached is looked at again after this long: others may give back. */
const LOOK_AGAIN_MS = 1000
/** Time before the end of the last grant at which the next one is requested. */
const AHEAD_MS = 1500

/** Requests per grant. */
const grantSize = (limit: number): number => Math.max(1, Math.floor(limit / 10))

/**
 * Known starts of one subject in the last 60 seconds: those of this coordinator, exactly, and those
 * of the others when it last asked. Ticks are those of a clock that never goes back.
 */
export class SubjectSlots {
  readonly #clock: SlotClock
  /** Parts by slot, oldest first. */
  #parts: Part[] = []
  /** The part that was spent from last; those before it are never spent from again. */
  #spending: Part | undefined
  #others: readonly SlotCount[] = []
  /** Ticks until which the limit counts as reached. */
  #fullUntil = Number.NEGATIVE_INFINITY
  /** Limit for which the store was last asked. */
  limit = 0

  constructor(clock: SlotClock) {
    this.#clock = clock
  }

  /** Starts that may be added now. */
  countRemaining(limit: number, ticks: number): number {
    let sum = 0
    for (const part of this.#parts) if (this.#isOpen(part, ticks)) sum += part.granted - part.spent
    // a grant under a larger limit does not hold under a smaller one
    return sum === 0 ? 0 : Math.max(0, Math.min(sum, limit - this.#countKnown(ticks) + sum))
  }

  room(limit: number, ticks: number): number {
    const known = this.#countKnown(ticks)
    return Math.max(0, limit - known + this.countRemaining(limit, ticks))
  }

  waitMs(limit: number, ticks: number): number {
    if (ticks >= this.#fullUntil || limit > this.limit) return 0
    if (this.countRemaining(limit, ticks) > 0) return 0
    return Math.max(1, this.#roomAt(limit, ticks) - ticks)
  }

  add(ticks: number): void {
    const part = this.#parts.find(part => part.granted > part.spent && this.#isOpen(part, ticks))
    if (part === undefined) throw new RangeError('a start that was not granted')
    if (part.spent++ === 0) part.firstTicks = ticks
    this.#spending = part
  }

  remove(ticks: number): void {
    const part = this.#parts.findLast(part => part.spent > 0 && part.firstTicks <= ticks)
    if (part !== undefined) part.spent--
  }

  /** True when the next grant should be asked for before it is needed. */
  isDue(ticks: number): boolean {
    const size = grantSize(this.limit)
    if (size === 1 || ticks < this.#fullUntil) return false
    const end = this.#parts.at(-1)?.endTicks ?? ticks
    return end - ticks < AHEAD_MS || this.countRemaining(this.limit, ticks) * 2 <= size
  }

  /**
   * A wish for a whole grant, or for as much as is waited for. Without `waiting` it only reports.
   */
  wish({ subject, limit, waiting }: Wanted, ticks: number): SlotWish {
    this.#forget(ticks)
    const own = this.#parts.map(part => ({ slot: part.slot, starts: countOf(part, ticks) }))
    if (waiting === undefined) return { subject, limit, wanted: 0, own }
    const size = grantSize(limit)
    const lacking = size - this.countRemaining(limit, ticks)
    // what ends soon must be replaced before it does
    const lackingSoon = Math.ceil(size / 2) - this.countRemaining(limit, ticks + AHEAD_MS)
    return { subject, limit, wanted: Math.max(waiting, lacking, lackingSoon), own }
  }

  /** The store has the counts of a wish. */
  noteReported({ own }: Pick<SlotWish, 'own'>): void {
    for (const { slot, starts } of own) {
      const part = this.#parts.find(part => part.slot === slot)
      if (part !== undefined) part.stored = starts
    }
  }

  /** Takes the answer to a wish that was reported. */
  accept({ limit, wanted }: SlotWish, grant: SlotGrant, ticks: number): void {
    this.#others = grant.others
    if (grant.granted > 0) this.#addGrant(grant)
    if (wanted === 0) return
    const isFull = grant.granted < wanted
    this.#fullUntil = isFull ? ticks + LOOK_AGAIN_MS : Number.NEGATIVE_INFINITY
    this.limit = limit
  }

  /** True when the limit is reached whatever the store would say; it counts as reached then. */
  noteFull(limit: number, ticks: number): boolean {
    if (this.#countKnown(ticks) < limit) return false
    this.#fullUntil = ticks + LOOK_AGAIN_MS
    this.limit = limit
    return this.waitMs(limit, ticks) > 0
  }

  /** The store has lost its counts. */
  forgetStored(): void {
    for (const part of this.#parts) part.stored = 0
  }

  /** Ends all grants, so that the next report gives back what is not spent. */
  end(ticks: number): void {
    for (const part of this.#parts) part.endTicks = Math.min(part.endTicks, ticks)
  }

  /** True when the store has another count than this coordinator. */
  mustReport(ticks: number): boolean {
    return this.#parts.some(part => part.stored !== countOf(part, ticks))
  }

  /** True when nothing of it is granted or counted any more. */
  isSettled(ticks: number): boolean {
    return this.#parts.every(part => ticks >= part.endTicks && part.stored === part.spent)
  }

  #isOpen(part: Part, ticks: number): boolean {
    return ticks < part.endTicks && part.slot >= (this.#spending?.slot ?? part.slot)
  }

  /** Starts in the window, of all coordinators, as far as known; grants count as started. */
  #countKnown(ticks: number): number {
    if (!this.#clock.isSet()) return 0
    const oldest = this.#clock.earliestSlot(ticks) - WINDOW_SLOTS + 1
    let sum = 0
    for (const part of this.#parts) if (part.slot >= oldest) sum += countOf(part, ticks)
    for (const { slot, starts } of this.#others) if (slot >= oldest) sum += starts
    return sum
  }

  /** Ticks at which enough starts are forgotten for one more. */
  #roomAt(limit: number, ticks: number): number {
    const own = this.#parts.map(part => ({ slot: part.slot, starts: countOf(part, ticks) }))
    let known = this.#countKnown(ticks)
    for (const { slot, starts } of [...own, ...this.#others].sort((a, b) => a.slot - b.slot)) {
      const at = this.#clock.forgottenAt(slot)
      if (at <= ticks) continue
      known -= starts
      if (known < limit) return at
    }
    return ticks
  }

  #addGrant({ slot, granted, starts }: SlotGrant): void {
    const part = this.#partOf(slot)
    // the store may know starts of this slot that this object does not: it was forgotten meanwhile
    part.spent += Math.max(0, starts - granted - part.granted)
    part.granted = Math.max(part.granted + granted, starts)
    part.stored = starts
  }

  #partOf(slot: number): Part {
    const found = this.#parts.find(part => part.slot === slot)
    if (found !== undefined) return found
    const endTicks = this.#clock.endOf(slot)
    const part = { slot, granted: 0, spent: 0, stored: 0, endTicks, firstTicks: 0 }
    this.#parts.push(part)
    this.#parts.sort((a, b) => a.slot - b.slot)
    return part
  }

  #forget(ticks: number): void {
    if (!this.#clock.isSet()) return
    const oldest = this.#clock.earliestSlot(ticks) - WINDOW_SLOTS + 1
    this.#parts = this.#parts.filter(part => part.slot >= oldest)
    if (this.#spending !== undefined && this.#spending.slot < oldest) this.#spending = undefined
  }
}

/** Count that the store should have: a grant counts as started until it has ended. */
const countOf = (part: Part, ticks: number): number =>
  ticks < part.endTicks ? part.granted : part.spent
