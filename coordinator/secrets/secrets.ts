import type { Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import { Listeners } from '../base/listeners.ts'
import type { WriteOptions } from '../store/lanes.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables, SecretRow } from '../store/tables.ts'
import type { KeyRing } from './key-ring.ts'

/** `data-keys` comes first into a store: the key that opens it opens all others. */
export type SecretName = 'data-keys' | 'signing' | 'authority' | 'broker'

/** Changes a secret: gets its present text, and returns the next one. */
type SecretChange = (
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

type SecretListener = (text: string, isOwn: boolean) => void

interface SecretsParts {
  ledger: Pick<Ledger, 'sealed' | 'read' | 'nowMs'>
  ring: KeyRing
}

/** A secret is not evidence: it is made and read also while the audit is in doubt. */
export const EVEN_FROZEN = { evenFrozen: true }

/** The secrets of a store, opened with the keys of this state folder. */
export class SharedSecrets implements Secrets {
  readonly #parts: SecretsParts
  readonly #known = new Map<string, { version: number; text: string }>()
  readonly #listeners = new Map<SecretName, Listeners<Parameters<SecretListener>>>()

  constructor(parts: SecretsParts) {
    this.#parts = parts
  }

  /** Returns a secret as this process has read it last; undefined when there was none. */
  get(name: SecretName): string | undefined {
    return this.#known.get(name)?.text
  }

  async has(trx: Transaction<LedgerTables>, name: SecretName): Promise<boolean> {
    return (await selectRow(trx, name)) !== undefined
  }

  async ensure(name: SecretName, create: () => string | Promise<string>): Promise<string> {
    const known = this.#known.get(name)
    if (known !== undefined) return known.text
    const created = await create()
    const row = await this.#parts.ledger.sealed.write(
      trx => this.insertNew(trx, name, created),
      EVEN_FROZEN,
    )
    return this.#adopt(row)
  }

  async update(name: SecretName, change: SecretChange, options?: WriteOptions): Promise<string> {
    const { ledger, ring } = this.#parts
    const { row, text } = await ledger.sealed.write(async trx => {
      const before = await requireRow(trx, name)
      const now = await ledger.nowMs(trx)
      const text = await change(ring.open(before), trx, now)
      const sealed = ring.seal(before.key_id, name, text)
      const row = { ...before, sealed, version: before.version + 1, changed_at: now }
      await trx.updateTable('secrets').set(row).where('name', '=', name).execute()
      await bumpRevision(trx, 'secrets')
      return { row, text }
    }, options)
    this.#adopt(row, true)
    return text
  }

  onChange(name: SecretName, listener: SecretListener): () => void {
    const listeners = this.#listeners.get(name) ?? new Listeners<Parameters<SecretListener>>()
    this.#listeners.set(name, listeners)
    return listeners.add(listener)
  }

  async isCurrent(name: SecretName, trx: Transaction<LedgerTables>): Promise<boolean> {
    const row = await selectRow(trx, name)
    return row?.version === this.#known.get(name)?.version
  }

  /** Reads the secrets of the store that this process does not have yet. */
  async refresh(): Promise<void> {
    const { ledger, ring } = this.#parts
    const rows = await ledger.read.selectFrom('secrets').selectAll().execute()
    if (rows.some(({ key_id }) => !ring.ids.includes(key_id))) await ring.reread()
    for (const row of rows) this.#adopt(row)
  }

  /** Inserts a secret unless another coordinator has; returns the row that the store has now. */
  async insertNew(trx: SealedTrx, name: SecretName, text: string): Promise<SecretRow> {
    const { ledger, ring } = this.#parts
    const present = await selectRow(trx, name)
    if (present !== undefined) return present
    const anchor = await selectRow(trx, 'data-keys')
    const key_id = anchor?.key_id ?? (ring.ids[0] as string)
    const sealed = ring.seal(key_id, name, text)
    const row = { name, key_id, sealed, version: 1, changed_at: await ledger.nowMs(trx) }
    await trx.insertInto('secrets').values(row).execute()
    return row
  }

  /** Takes over a row unless a newer one is known already; returns the text. */
  #adopt(row: SecretRow, isOwn = false): string {
    const known = this.#known.get(row.name)
    if (known !== undefined && known.version >= row.version) return known.text
    const text = this.#parts.ring.open(row)
    this.#known.set(row.name, { version: row.version, text })
    if (known !== undefined) this.#listeners.get(row.name as SecretName)?.notify(text, isOwn)
    return text
  }
}

const selectRow = (
  trx: Transaction<LedgerTables>,
  name: SecretName,
): Promise<SecretRow | undefined> =>
  trx.selectFrom('secrets').selectAll().where('name', '=', name).executeTakeFirst()

const requireRow = async (trx: Transaction<LedgerTables>, name: SecretName): Promise<SecretRow> => {
  const row = await selectRow(trx, name)
  if (row !== undefined) return row
  throw new ShoalError(
    'store_unavailable',
    `the secret ${name} has gone from the store: start again`,
  )
}
