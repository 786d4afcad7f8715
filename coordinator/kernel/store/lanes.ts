import type { Transaction } from 'kysely'

declare const sealed: unique symbol

/** A transaction of the sealed lane; only the lane itself makes one. */
export type SealedTransaction<T> = Transaction<T> & { readonly [sealed]: true }

/**
 * Changes of the store, done inside one transaction. A work must wait for nothing but the store,
 * and never for another `write`: its whole batch would wait with it.
 */
export type WriteWork<Trx, R> = (trx: Trx) => Promise<R>

export interface WriteOptions {
  /** True when the write is allowed in a frozen database, for writes that set or lift a freeze. */
  evenFrozen?: boolean
  /**
   * True for a short write that must not queue behind others, such as the renewal of a lease: an
   * overloaded process would count as dead. SQLite keeps the order of its one queue.
   */
  isUrgent?: boolean
}

export interface Lane<Trx> {
  /** Resolves after COMMIT, so the result is on the disk. */
  write<R>(work: WriteWork<Trx, R>, options?: WriteOptions): Promise<R>
}

export type LaneName = 'sealed' | 'free'

/**
 * The two ways to write, by contract. SQLite, which has one writer, serves both by one queue.
 *
 * `sealed`: one work after another over all processes. For what is chained, numbered, or read
 * before it is written without a condition in the statement that writes. A work runs once, or twice
 * when a newer coordinator has changed a table meanwhile: the first run is undone before the second.
 *
 * `free`: atomic, but possibly at the same time as others, and tried again after a conflict. Every
 * statement must be right by itself (a condition, an upsert, a lease), and a work must have no
 * effect outside its transaction, because it may run several times.
 */
export interface Lanes<T> {
  sealed: Lane<SealedTransaction<T>>
  free: Lane<Transaction<T>>
}
