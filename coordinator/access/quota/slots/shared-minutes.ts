import type { LRUCache } from 'lru-cache'
import { ShoalError } from '../../../../shared/errors.ts'
import { type Runtime, stopTimer } from '../../../../shared/runtime.ts'
import { createBoundedCache } from '../../../kernel/base/bounded-cache.ts'
import type { Minute } from '../../../kernel/base/minute.ts'
import { type AskingBatch, AskingQueue } from './asking-queue.ts'
import { SlotClock } from './slot-clock.ts'
import { COUNTED_MS, type SlotGrant, type SlotWish } from './slot-grant.ts'
import type { ExchangeSlots, SlotAnswer } from './slot-rows.ts'
import { SubjectSlots } from './subject-slots.ts'

interface SharedMinutesParts {
  exchange: ExchangeSlots
  /** Milliseconds of a clock that never goes back. */
  ticks?: () => number
  /** True while the store is known to be away. */
  isAway?: () => boolean
  /** Most subjects held in memory. */
  capacity?: number
  runtime: Pick<Runtime, 'nowMs' | 'setTimeout'>
}

/** Longest wait for the store. A store that is away is noticed within this time. */
const ANSWER_MS = 3000
/** The store is asked at least this often, to notice that it has lost the counts of this process. */
const LOOK_EVERY_MS = 500
/** The same while this process has no counts, so that those of the others are settled before it needs them. */
const IDLE_LOOK_EVERY_MS = 5000
const RETRY_AFTER_SECONDS = 5

/**
 * State of the store by its last answer. While it is `settling`, the coordinators report what it
 * has lost, and requests wait. A question that has failed makes it `away`: each request asks again,
 * because it fails at once in an outage that is known. A question that is `overdue` refuses them
 * unasked, and so does a settling that waits for a coordinator: `gathering`.
 */
type StoreState = 'answering' | 'settling' | 'gathering' | 'away' | 'overdue'
const REFUSING: readonly StoreState[] = ['overdue', 'gathering']

/**
 * Minutes over several coordinators. Starts are granted by the store some at a time, and then
 * added without it; see `grantStarts`. What was not spent is reported when its slot has ended.
 *
 * While the store does not answer, only what was granted before is started: this process cannot know
 * what the others have started since it last asked.
 */
export class SharedMinutes {
  readonly #parts: SharedMinutesParts
  readonly #runtime: Pick<Runtime, 'nowMs' | 'setTimeout'>
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
  #isAway = false
  /** See `SlotAnswer`. */
  #bornMs: number | undefined
  /** Subjects whose counts the store has lost and not got again. */
  readonly #lost = new Set<string>()

  constructor(parts: SharedMinutesParts) {
    this.#parts = parts
    this.#runtime = parts.runtime
    this.#ticks = parts.ticks ?? this.#runtime.nowMs
    this.#subjects = createBoundedCache(parts.capacity ?? 100_000)
  }

  open = (subject: string): Minute => ({
    room: (limit, ticks) => this.#slotsOf(subject).room(limit, ticks),
    waitMs: (limit, ticks) => this.#slotsOf(subject).waitMs(limit, ticks),
    isReady: (limit, ticks) => this.#slotsOf(subject).countRemaining(limit, ticks) > 0,
    reserve: (limit, ticks) =>
      this.#slotsOf(subject).countRemaining(limit, ticks) > 0
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
    const isWaiting = ['settling', 'gathering'].includes(this.#state) || this.#queue.size() > 0
    const wasAway = this.#isAway
    this.#isAway = this.#parts.isAway?.() ?? false
    // another server may have taken over
    const isBack = wasAway && !this.#isAway
    if (isDue || isWaiting || isBack) this.#queue.start()
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
    if (!REFUSING.includes(this.#state)) return this.#queue.wait(subject, limit)
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
    const overdue = this.#runtime.setTimeout(() => {
      this.#state = 'overdue'
      this.#refuseBatch(batch)
    }, ANSWER_MS)
    try {
      const answer = await this.#parts.exchange(wishes, this.#findReportedBirth(batch, beforeTicks))
      this.#accept(wishes, answer, beforeTicks)
      const { isSettling, nowMs, bornMs } = answer
      const isLong = isSettling && nowMs - bornMs >= ANSWER_MS
      this.#state = isLong ? 'gathering' : isSettling ? 'settling' : 'answering'
      if (isLong) this.#refuseBatch(batch)
      else if (isSettling) this.#queue.postpone(batch)
      for (const { answered } of batch.values()) answered.resolve()
      return !isSettling
    } catch (error) {
      this.#state = 'away'
      this.#refuseBatch(batch, error)
      return false
    } finally {
      stopTimer(overdue)
    }
  }

  /** The `bornMs` since which everything is reported, once this batch is; undefined before that. */
  #findReportedBirth(batch: AskingBatch, ticks: number): number | undefined {
    for (const subject of this.#lost)
      if (!this.#slotsOf(subject).mustReport(ticks)) this.#lost.delete(subject)
    const isComplete = [...this.#lost].every(subject => batch.has(subject))
    return isComplete ? this.#bornMs : undefined
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
      this.#lost.delete(wish.subject)
      // what the others have reported again is less than what is known of them
      if (!isSettling) slots.accept(wish, grants[index] as SlotGrant, afterTicks)
      this.#unsettled.add(wish.subject)
    }
    if (wishes.length > 0) this.#usedAtTicks = afterTicks
    if (areLost) this.#reportAll(wishes)
  }

  /** Reports everything again, except what was reported just now. */
  #reportAll(reported: readonly SlotWish[]): void {
    const done = new Set(reported.map(({ subject }) => subject))
    for (const [subject, slots] of this.#subjects.entries())
      if (!done.has(subject)) {
        slots.forgetStored()
        this.#unsettled.add(subject)
        this.#lost.add(subject)
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
      this.#state === 'gathering'
        ? 'the database was taken over, and a coordinator has not yet reported its last minute'
        : 'the store does not answer, so requests cannot be counted',
      {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        cause,
      },
    )
  }
}
