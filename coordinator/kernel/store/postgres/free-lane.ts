import type { Kysely, Transaction } from 'kysely'
import { backOffMs } from '../../../../shared/back-off.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { type Runtime, sleep, systemRuntime } from '../../../../shared/runtime.ts'
import type { LaneOptions } from '../engine.ts'
import { type FaultKind, faultOf } from '../faults.ts'
import type { Lane, WriteOptions, WriteWork } from '../lanes.ts'

/** Pause between two attempts. */
const PAUSE = { firstMs: 2, maxMs: 512, jitter: [0, 1] } as const

/** Attempts at a work that collides with others, or whose connection is lost before the commit. */
const ATTEMPTS: Partial<Record<FaultKind, number>> = {
  conflict: 10,
  outdated: 3,
  lost: 3,
}
const QUEUE_LIMIT = 50_000

interface FreeLaneParts<T> extends LaneOptions<T> {
  db: Kysely<T>
  /** The same database on connections that only urgent works use. */
  urgent: Kysely<T>
}

/** Each work in a transaction of its own, as many at once as there are connections. */
export class FreeLane<T> implements Lane<Transaction<T>> {
  readonly #parts: FreeLaneParts<T>
  readonly #runtime: Runtime
  readonly #wait: (milliseconds: number) => Promise<unknown>
  readonly #running = new Set<Promise<unknown>>()
  #isClosed = false
  #frozen: string | undefined

  constructor(parts: FreeLaneParts<T>) {
    this.#parts = parts
    this.#runtime = parts.runtime ?? systemRuntime
    this.#wait = parts.wait ?? (milliseconds => sleep(this.#runtime, milliseconds))
  }

  write = async <R>(work: WriteWork<Transaction<T>, R>, options: WriteOptions = {}): Promise<R> => {
    if (this.#isClosed) throw new ShoalError('store_unavailable', 'the store is closed')
    const { queueLimit = QUEUE_LIMIT } = this.#parts
    if (this.#running.size >= queueLimit && !options.isUrgent)
      throw new ShoalError('store_unavailable', `${queueLimit} changes wait for the database`, {
        retryAfterSeconds: 5,
      })
    const running = this.#attempt(work, options)
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
    options: WriteOptions,
    attempt = 1,
  ): Promise<R> {
    const startedMs = this.#runtime.nowMs()
    const { db, urgent, observer } = this.#parts
    try {
      const result = await (options.isUrgent ? urgent : db).transaction().execute(async trx => {
        if (!options.evenFrozen) await this.#requireWritable(trx)
        return work(trx)
      })
      observer?.onCommit('free', 1, (this.#runtime.nowMs() - startedMs) / 1000)
      return result
    } catch (error) {
      const fault = faultOf(error)
      if (fault === undefined || attempt >= (ATTEMPTS[fault] ?? 1)) throw error
      observer?.onRetry('free')
      await this.#wait(backOffMs(PAUSE, attempt - 1, this.#runtime.random))
      return this.#attempt(work, options, attempt + 1)
    }
  }

  async #requireWritable(trx: Transaction<T>): Promise<void> {
    const why = this.#frozen ?? (await this.#parts.refusal?.(trx))
    if (why !== undefined) throw new ShoalError('audit_broken', why)
  }
}
