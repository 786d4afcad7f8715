import type { ControlledTransaction, Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { nextTurn, type Runtime, sleep, systemRuntime } from '../../../shared/runtime.ts'
import type { LaneOptions } from './engine.ts'
import { faultOf, losesTransaction, StoreFault, storeUnavailable } from './faults.ts'
import type { Lanes, WriteOptions, WriteWork } from './lanes.ts'

interface Entry<T> {
  work: WriteWork<Transaction<T>, unknown>
  resolve: (result: unknown) => void
  reject: (reason: unknown) => void
  evenFrozen: boolean
  attemptsLeft: number
}

/** Works per transaction, so that a flood of them cannot stop the event loop for long. */
const DEFAULT_BATCH = 512
/** Attempts to get the lock, 1 to 8 ms apart: about 5 s. */
const LOCK_ATTEMPTS = 1000
/** Attempts at a free work that collides with others. */
const FREE_ATTEMPTS = 10
const QUEUE_LIMIT = 50_000

interface GroupOptions<T> extends LaneOptions<T> {
  /** Works per transaction at most. */
  batch?: number
}

/**
 * Group commit: works that are queued in one turn of the event loop share one transaction and so
 * one fsync. They run one after another, each in its own savepoint: one that fails is undone
 * alone. When the transaction as a whole fails, all of its works fail.
 */
export class GroupCommit<T> {
  readonly #db: Kysely<T>
  readonly #runtime: Runtime
  readonly #refusal: LaneOptions<T>['refusal']
  readonly #wait: (milliseconds: number) => Promise<unknown>
  readonly #queueLimit: number
  readonly #batch: number
  readonly #observer: LaneOptions<T>['observer']
  readonly #queue: Entry<T>[] = []
  #running: Promise<void> | undefined
  #isClosed = false
  #frozen: string | undefined

  constructor(db: Kysely<T>, options: GroupOptions<T> = {}) {
    this.#db = db
    this.#refusal = options.refusal
    this.#runtime = options.runtime ?? systemRuntime
    this.#wait = options.wait ?? (milliseconds => sleep(this.#runtime, milliseconds))
    this.#queueLimit = options.queueLimit ?? QUEUE_LIMIT
    this.#batch = options.batch ?? DEFAULT_BATCH
    this.#observer = options.observer
  }

  /** Returns both lanes on this one queue, which orders the works of this process. */
  lanes(): Lanes<T> {
    return {
      sealed: {
        write: <R>(work: WriteWork<never, R>, options?: WriteOptions) =>
          this.#write(work as WriteWork<Transaction<T>, R>, options, 1),
      },
      free: { write: (work, options) => this.#write(work, options, FREE_ATTEMPTS) },
    }
  }

  freeze(reason: string): void {
    this.#frozen ??= reason
  }

  unfreeze(): void {
    this.#frozen = undefined
  }

  /** Finishes what is queued and refuses what comes later. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
  }

  #write<R>(
    work: WriteWork<Transaction<T>, R>,
    { evenFrozen = false }: WriteOptions = {},
    attemptsLeft: number,
  ): Promise<R> {
    if (this.#isClosed)
      return Promise.reject(new ShoalError('store_unavailable', 'the store is closed'))
    if (this.#frozen !== undefined && !evenFrozen)
      return Promise.reject(createInDoubtError(this.#frozen))
    if (this.#queue.length >= this.#queueLimit)
      return Promise.reject(createOverloadError(this.#queueLimit))
    return new Promise((resolve, reject) => {
      const settle = { resolve: resolve as Entry<T>['resolve'], reject }
      this.#queue.push({ work, ...settle, evenFrozen, attemptsLeft })
      this.#running ??= this.#drain()
    })
  }

  async #drain(): Promise<void> {
    for (;;) {
      await nextTurn(this.#runtime)
      const batch = this.#queue.splice(0, this.#batch)
      if (batch.length === 0) break
      await this.#commit(batch)
    }
    this.#running = undefined
  }

  async #commit(batch: Entry<T>[], isRepeated = false): Promise<void> {
    const startedMs = this.#runtime.nowMs()
    try {
      const settles = await this.#runInTransaction(batch)
      this.#observer?.onCommit('sealed', batch.length, (this.#runtime.nowMs() - startedMs) / 1000)
      for (const settle of settles) settle()
    } catch (error) {
      // the statements are prepared again by now; later works must still come after these
      if (faultOf(error) === 'outdated' && !isRepeated) return this.#repeat(batch)
      for (const entry of batch) this.#fail(entry, error)
    }
  }

  #repeat(batch: Entry<T>[]): Promise<void> {
    this.#observer?.onRetry('sealed')
    return this.#commit(batch, true)
  }

  /** A free work that has collided goes back into the queue. */
  #fail(entry: Entry<T>, error: unknown): void {
    if (faultOf(error) === 'conflict' && --entry.attemptsLeft > 0) {
      this.#observer?.onRetry('sealed')
      this.#queue.push(entry)
    } else entry.reject(error)
  }

  async #runInTransaction(batch: Entry<T>[]): Promise<(() => void)[]> {
    const trx = await this.#begin()
    try {
      const settles: (() => void)[] = []
      const why = await this.#refusal?.(trx)
      for (const entry of batch)
        if (why !== undefined && !entry.evenFrozen)
          settles.push(() => entry.reject(createInDoubtError(why)))
        else settles.push(await (batch.length === 1 ? runAlone : runInSavepoint)(trx, entry))
      await trx.commit().execute()
      return settles
    } catch (error) {
      await trx.rollback().execute()
      throw error
    }
  }

  async #begin(attempt = 1): Promise<ControlledTransaction<T>> {
    try {
      return await this.#db.startTransaction().execute()
    } catch (error) {
      if (faultOf(error) !== 'conflict') throw error
      if (attempt === LOCK_ATTEMPTS) throw createLockedOutError(error)
      await this.#wait(1 + this.#runtime.random() * 7)
      return this.#begin(attempt + 1)
    }
  }
}

const createInDoubtError = (why: string): ShoalError => new ShoalError('audit_broken', why)

const createOverloadError = (queued: number): ShoalError =>
  new ShoalError('store_unavailable', `${queued} changes wait for the disk`, {
    retryAfterSeconds: 5,
  })

const createLockedOutError = (error: unknown): ShoalError => {
  const message = 'another process has locked the store'
  return storeUnavailable(message, new StoreFault('unavailable', message, error))
}

/** A work that shares its transaction with no other needs no savepoint. */
const runAlone = async <T>(
  trx: Transaction<T>,
  { work, resolve }: Entry<T>,
): Promise<() => void> => {
  const result = await work(trx)
  return () => resolve(result)
}

/** Throws only when the transaction as a whole is lost. */
const runInSavepoint = async <T>(
  trx: ControlledTransaction<T>,
  { work, resolve, reject }: Entry<T>,
): Promise<() => void> => {
  const inner = await trx.savepoint('work').execute()
  try {
    const result = await work(inner)
    await inner.releaseSavepoint('work').execute()
    return () => resolve(result)
  } catch (error) {
    if (losesTransaction(error)) throw error
    await inner.rollbackToSavepoint('work').execute()
    await inner.releaseSavepoint('work').execute()
    return () => reject(error)
  }
}
