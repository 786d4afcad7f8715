import { setTimeout } from 'node:timers/promises'
import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { LaneOptions } from '../engine.ts'
import { type FaultKind, faultOf } from '../faults.ts'
import type { Lane, WriteOptions, WriteWork } from '../lanes.ts'

/** Attempts at a work that collides with others, or whose connection is lost before the commit. */
const ATTEMPTS: Partial<Record<FaultKind, number>> = { conflict: 10, lost: 3 }
const QUEUE_LIMIT = 50_000

/** Each work in a transaction of its own, as many at once as there are connections. */
export class FreeLane<T> implements Lane<Transaction<T>> {
  readonly #db: Kysely<T>
  readonly #options: LaneOptions<T>
  readonly #wait: (milliseconds: number) => Promise<unknown>
  readonly #running = new Set<Promise<unknown>>()
  #isClosed = false
  #frozen: string | undefined

  constructor(db: Kysely<T>, options: LaneOptions<T>) {
    this.#db = db
    this.#options = options
    this.#wait = options.wait ?? setTimeout
  }

  write = async <R>(
    work: WriteWork<Transaction<T>, R>,
    { evenFrozen = false }: WriteOptions = {},
  ): Promise<R> => {
    if (this.#isClosed) throw new ShoalError('store_unavailable', 'the store is closed')
    const { queueLimit = QUEUE_LIMIT } = this.#options
    if (this.#running.size >= queueLimit)
      throw new ShoalError('store_unavailable', `${queueLimit} changes wait for the database`, {
        retryAfterSeconds: 5,
      })
    const running = this.#attempt(work, evenFrozen)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  freeze(reason: string): void {
    this.#frozen ??= reason
  }

  unfreeze(): void {
    this.#frozen = undefined
  }

  /** Finishes what is under way and refuses what comes later. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#running)
  }

  async #attempt<R>(
    work: WriteWork<Transaction<T>, R>,
    evenFrozen: boolean,
    attempt = 1,
  ): Promise<R> {
    const startedMs = performance.now()
    const { observer } = this.#options
    try {
      const result = await this.#db.transaction().execute(async trx => {
        if (!evenFrozen) await this.#requireWritable(trx)
        return work(trx)
      })
      observer?.onCommit('free', 1, (performance.now() - startedMs) / 1000)
      return result
    } catch (error) {
      const fault = faultOf(error)
      if (fault === undefined || attempt >= (ATTEMPTS[fault] ?? 1)) throw error
      observer?.onRetry('free')
      await this.#wait(Math.random() * 2 ** attempt)
      return this.#attempt(work, evenFrozen, attempt + 1)
    }
  }

  async #requireWritable(trx: Transaction<T>): Promise<void> {
    const why = this.#frozen ?? (await this.#options.refusal?.(trx))
    if (why !== undefined) throw new ShoalError('audit_broken', why)
  }
}
