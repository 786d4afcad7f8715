import type { Transaction } from 'kysely'
import type { WriteOptions } from '../store/lanes.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'

/** `data-keys` comes first into a store: the key that opens it opens all others. */
export type SecretName = 'data-keys' | 'signing' | 'authority' | 'broker' | 'discovery'

/** Changes a secret: gets its present text, and returns the next one. */
export type SecretChange = (
  current: string,
  trx: SealedTrx,
  /** Unix milliseconds by the clock of the store. */
  now: number,
) => Promise<string>

/** Secrets that all coordinators of a store share. */
export interface Secrets {
  /** Returns a secret; creates it first when no coordinator has. */
  ensure(name: SecretName, create: () => string | Promise<string>): Promise<string>
  /**
   * Replaces a secret, which must exist, in one transaction with whatever else the change writes.
   * Returns its new text.
   */
  update(name: SecretName, change: SecretChange, options?: WriteOptions): Promise<string>
  /** Calls back with the new text after this or another coordinator has changed the secret. */
  onChange(name: SecretName, listener: SecretListener): () => void
  /** True when the secret has not changed since this process has read it last. */
  isCurrent(name: SecretName, trx: Transaction<LedgerTables>): Promise<boolean>
}

export type SecretListener = (text: string, isOwn: boolean) => void
