import type { LRUCache } from 'lru-cache'
import { ShoalError } from '../../../shared/errors.ts'
import { createBoundedCache } from '../../base/bounded-cache.ts'
import type { Minute } from '../minute.ts'
import { type AskingBatch, AskingQueue } from './asking-queue.ts'
import { SlotClock } from './slot-clock.ts'
import { SLOT_MS, type SlotGrant, type SlotWish, WINDOW_SLOTS } from './slot-grant.ts'
import type { ExchangeSlots, SlotAnswer } from './slot-rows.ts'
import { SubjectSlots } from './subject-slots.ts'

interface SharedMinutesParts {
  exchange: ExchangeSlots
  /** Milliseconds of a clock that never goes back. */
  ticks?: () => number
  /** Most subjects held in memory. */
  capacity?: number
}

/** Longest wait for the store. A store that is away is noticed within this time. */
const ANSWER_MS = 3000
/** The store is asked at least this often, to notice that it has lost the counts of this process. */
const LOOK_EVERY_MS = 500
/** The same while this process has no counts, so that those of the others are settled before it needs them. */
const IDLE_LOOK_EVERY_MS = 5000
/** Time after the last start in which the store may have counts of this process. */
const COUNTED_MS = (WINDOW_SLOTS + 2) * SLOT_MS
const RETRY_AFTER_SECONDS = 5

/**
 * How the store has answered last. While it is `settling`, the coordinators report what it has lost,
 * and requests wait. A question that has failed makes it `away`: each request asks again, because it
 * fails at once in an outage that is known. A question that is `overdue` refuses them unasked.
 */
type StoreState = 'answering' | 'settling' | 'away' | 'overdue'

/**
 * Minutes over several coordinators. Starts are granted by the store some at a time, and then
 * added without it; see `grantStarts`. What was not spent is reported when its slot has ended.
 *
 * While the store does not answer, only what was granted before is started: this process cannot know
 * what the others have started since it last asked.
 */
export class SharedMinutes {
  readonly #parts: SharedMinutesParts
  readonly #ticks: () => number
  readonly #clock = new SlotClock()
  readonly #subjects: LRUCache<string, SubjectSlots>
  readonly #queue = new AskingQueue(batch => this.#askStore(batch))
  /** Subjects with starts that the store does not count as it should, or soon will not. */
  readonly #unsettled = new Set<string>()
  #state: StoreState = 'answering'
  #askedAtTicks = Number.NEGATIVE_INFINITY
  /** Ticks of the last start or grant. */
  #usedAtTicks = Number.NEGATIVE_INFINITY
  /** See `SlotAnswer`. */
  #bornMs: number | undefined

  constructor(parts: SharedMinutesParts) {
    this.#parts = parts
    this.#ticks = parts.ticks ?? (() => performance.now())
    this.#subjects = createBoundedCache(parts.capacity ?? 100_000)
  }

  open = (subject: string): Minute => ({
    room: (limit, ticks) => this.#slotsOf(subject).room(limit, ticks),
    waitMs: (limit, ticks) => this.#slotsOf(subject).waitMs(limit, ticks),
    isReady: (limit, ticks) => this.#slotsOf(subject).remaining(limit, ticks) > 0,
    reserve: (limit, ticks) =>
      this.#slotsOf(subject).remaining(limit, ticks) > 0
        ? undefined
        : this.#reserve(subject, limit, ticks),
    add: ticks => this.#add(subject, ticks),
    remove: ticks => {
      this.#slotsOf(subject).remove(ticks)
      this.#unsettled.add(subject)
    },
  })

  /** Reports what has ended, and asks a store again that did not answer. For a timer. */
  tend(): void {
    const ticks = this.#ticks()
    for (const subject of this.#unsettled) {
      const slots = this.#slotsOf(subject)
      if (slots.mustReport(ticks)) this.#queue.add(subject, 1, undefined)
      else if (slots.isSettled(ticks)) this.#unsettled.delete(subject)
    }
    const isIdle = ticks - this.#usedAtTicks > COUNTED_MS
    const isDue = ticks - this.#askedAtTicks >= (isIdle ? IDLE_LOOK_EVERY_MS : LOOK_EVERY_MS)
    const isWaiting = this.#state === 'settling' || this.#queue.size() > 0
    if (isDue || isWaiting) this.#queue.start()
  }

  /** Resolves when the store is not asked any more. */
  settle(): Promise<void> {
    return this.#queue.settle()
  }

  /** Gives back everything that is not spent. */
  async close(): Promise<void> {
    this.tend()
    await this.#queue.settle()
    for (const slots of this.#subjects.values()) slots.end(this.#ticks())
    this.tend()
    await this.#queue.settle()
  }

  #slotsOf(subject: string): SubjectSlots {
    const found = this.#subjects.get(subject)
    if (found !== undefined) return found
    const slots = new SubjectSlots(this.#clock)
    this.#subjects.set(subject, slots)
    return slots
  }

  #add(subject: string, ticks: number): void {
    const slots = this.#slotsOf(subject)
    slots.add(ticks)
    this.#usedAtTicks = ticks
    this.#unsettled.add(subject)
    if (!slots.isDue(ticks)) return
    this.#queue.add(subject, slots.limit, 0)
    if (this.#state === 'answering') this.#queue.start()
  }

  async #reserve(subject: string, limit: number, ticks: number): Promise<void> {
    // `tend` asks a store that settles
    if (this.#state === 'settling') return this.#queue.add(subject, limit, 1).answered.promise
    if (this.#state !== 'overdue') return this.#queue.wait(subject, limit)
    this.#queue.add(subject, limit, undefined)
    const refusal = this.#refusalOf(subject, limit, ticks)
    if (refusal !== undefined) throw refusal
  }

  async #askStore(batch: AskingBatch): Promise<boolean> {
    const beforeTicks = this.#ticks()
    this.#askedAtTicks = beforeTicks
    const wishes = [...batch].map(([subject, { limit, waiting }]) =>
      this.#slotsOf(subject).wish({ subject, limit, waiting }, beforeTicks),
    )
    const overdue = setTimeout(() => {
      this.#state = 'overdue'
      this.#refuseBatch(batch)
    }, ANSWER_MS)
    try {
      const answer = await this.#parts.exchange(wishes)
      this.#accept(wishes, answer, beforeTicks)
      if (answer.isSettling) this.#queue.postpone(batch)
      for (const { answered } of batch.values()) answered.resolve()
      this.#state = answer.isSettling ? 'settling' : 'answering'
      return !answer.isSettling
    } catch (error) {
      this.#state = 'away'
      this.#refuseBatch(batch, error)
      return false
    } finally {
      clearTimeout(overdue)
    }
  }

  #accept(
    wishes: readonly SlotWish[],
    { nowMs, bornMs, isSettling, grants }: SlotAnswer,
    beforeTicks: number,
  ): void {
    const afterTicks = this.#ticks()
    this.#clock.note({ beforeTicks, nowMs, afterTicks })
    const areLost = this.#bornMs !== undefined && bornMs !== this.#bornMs
    this.#bornMs = bornMs
    for (const [index, wish] of wishes.entries()) {
      const slots = this.#slotsOf(wish.subject)
      slots.noteReported(wish)
      // what the others have reported again is less than what is known of them
      if (!isSettling) slots.accept(wish, grants[index] as SlotGrant, afterTicks)
      this.#unsettled.add(wish.subject)
    }
    if (wishes.length > 0) this.#usedAtTicks = afterTicks
    if (areLost) this.#reportAll(wishes)
  }

  /** Has everything reported again, but what was reported just now. */
  #reportAll(reported: readonly SlotWish[]): void {
    const done = new Set(reported.map(({ subject }) => subject))
    for (const [subject, slots] of this.#subjects.entries())
      if (!done.has(subject)) {
        slots.forgetStored()
        this.#unsettled.add(subject)
      }
  }

  /** Refuses those who wait for a store that does not answer, if they still do, and has it asked again. */
  #refuseBatch(batch: AskingBatch, cause?: unknown): void {
    const ticks = this.#ticks()
    for (const [subject, { limit, waiting, answered }] of batch) {
      this.#queue.add(subject, limit, undefined)
      const refusal = waiting && this.#refusalOf(subject, limit, ticks, cause)
      if (refusal) answered.reject(refusal)
      else answered.resolve()
    }
  }

  /** The error for a caller that must not start; undefined where it sees that the limit is reached. */
  #refusalOf(subject: string, limit: number, ticks: number, cause?: unknown): Error | undefined {
    if (this.#slotsOf(subject).noteFull(limit, ticks)) return undefined
    return new ShoalError(
      'store_unavailable',
      'the store does not answer, so requests cannot be counted',
      {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        cause,
      },
    )
  }
}
