import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'

/**
 * Changes of the store, done inside one transaction. It must wait for nothing but the store, and
 * never for another `write`: the whole batch would wait with it.
 */
export type Work<T, R> = (trx: Transaction<T>) => Promise<R>

export interface Writer<T> {
  /** Resolves after COMMIT, so what it answers is on the disk. */
  write<R>(work: Work<T, R>, options?: WriteOptions): Promise<R>
  /** Refuses every write from now on, with `audit_broken`; reading goes on. */
  freeze(reason: string): void
  /** Finishes what is queued and refuses what comes later. */
  close(): Promise<void>
}

export interface WriteOptions {
  /** For what belongs to the freezing itself. */
  evenFrozen?: boolean
}

export interface WriterOptions<T> {
  /** True for a failure to get the lock that another process holds. */
  isBusy: (error: unknown) => boolean
  /** Why nothing may be written, by what is in the file: another process may have found it. */
  refusal?: ((trx: Transaction<T>) => Promise<string | undefined>) | undefined
  wait?: (milliseconds: number) => Promise<unknown>
  /** Works that may wait: a disk that hangs must not fill the memory. */
  queueLimit?: number
}

interface Entry<T> {
  work: Work<T, unknown>
  resolve: (result: unknown) => void
  reject: (reason: unknown) => void
  evenFrozen: boolean
}

/** Works per transaction, so that a flood of them cannot stop the event loop for long. */
const BATCH = 512
/** Attempts to get the lock, 1 to 8 ms apart: about 5 s. */
const LOCK_ATTEMPTS = 1000

/**
 * Group commit: works that are queued in one turn of the event loop share one transaction and so
 * one fsync. They run one after another, each in its own savepoint: one that fails is undone
 * alone. When the transaction as a whole fails, all of its works fail.
 */
export const createWriter = <T>(
  db: Kysely<T>,
  { isBusy, refusal, wait = setTimeout, queueLimit = 50_000 }: WriterOptions<T>,
): Writer<T> => {
  const queue: Entry<T>[] = []
  let running: Promise<void> | undefined
  let closed = false
  let frozen: string | undefined

  const drain = async (): Promise<void> => {
    for (;;) {
      await setImmediate()
      const batch = queue.splice(0, BATCH)
      if (batch.length === 0) break
      await commit(batch)
    }
    running = undefined
  }

  const commit = async (batch: Entry<T>[]): Promise<void> => {
    try {
      for (const settle of await inOneTransaction(batch)) settle()
    } catch (error) {
      for (const entry of batch) entry.reject(error)
    }
  }

  const inOneTransaction = async (batch: Entry<T>[]): Promise<(() => void)[]> => {
    const trx = await begin()
    try {
      const settles: (() => void)[] = []
      const why = await refusal?.(trx)
      for (const entry of batch)
        if (why !== undefined && !entry.evenFrozen) settles.push(() => entry.reject(inDoubt(why)))
        else settles.push(await (batch.length === 1 ? alone : attempt)(trx, entry))
      await trx.commit().execute()
      return settles
    } catch (error) {
      await trx.rollback().execute()
      throw error
    }
  }

  const begin = async (attempt = 1): ReturnType<typeof start> => {
    try {
      return await start()
    } catch (error) {
      if (!isBusy(error) || attempt === LOCK_ATTEMPTS) throw error
      await wait(1 + Math.random() * 7)
      return begin(attempt + 1)
    }
  }
  const start = () => db.startTransaction().execute()

  const write: Writer<T>['write'] = <R>(
    work: Work<T, R>,
    { evenFrozen = false }: WriteOptions = {},
  ): Promise<R> => {
    if (closed) return Promise.reject(new ShoalError('store_unavailable', 'the store is closed'))
    if (frozen !== undefined && !evenFrozen) return Promise.reject(inDoubt(frozen))
    if (queue.length >= queueLimit) return Promise.reject(overloaded(queueLimit))
    return new Promise((resolve, reject) => {
      queue.push({ work, resolve: resolve as Entry<T>['resolve'], reject, evenFrozen })
      running ??= drain()
    })
  }

  const close = async (): Promise<void> => {
    closed = true
    await running
  }

  const freeze = (reason: string): void => {
    frozen ??= reason
  }

  return { write, freeze, close }
}

const inDoubt = (why: string): ShoalError => new ShoalError('audit_broken', why)

const overloaded = (queued: number): ShoalError =>
  new ShoalError('store_unavailable', `${queued} changes wait for the disk`, {
    retryAfterSeconds: 5,
  })

/** A work that shares its transaction with no other needs no savepoint. */
const alone = async <T>(trx: Transaction<T>, { work, resolve }: Entry<T>): Promise<() => void> => {
  const result = await work(trx)
  return () => resolve(result)
}

/** Runs one work in a savepoint. Throws only when the transaction as a whole is lost. */
const attempt = async <T>(
  trx: Awaited<ReturnType<ReturnType<Kysely<T>['startTransaction']>['execute']>>,
  { work, resolve, reject }: Entry<T>,
): Promise<() => void> => {
  const inner = await trx.savepoint('work').execute()
  try {
    const result = await work(inner)
    await inner.releaseSavepoint('work').execute()
    return () => resolve(result)
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'store_unavailable') throw error
    await inner.rollbackToSavepoint('work').execute()
    await inner.releaseSavepoint('work').execute()
    return () => reject(error)
  }
}
