import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { Listeners } from '../base/listeners.ts'
import type { WriteOptions } from '../store/lanes.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { KeyRing } from './key-ring.ts'
import { type StoredSecret, secretTable } from './secret.table.ts'
import type { SecretChange, SecretListener, SecretName, Secrets } from './secrets.ts'

interface KnownSecret extends Pick<StoredSecret, 'version' | 'sealed'> {
  text: string
}

interface SecretsParts {
  ledger: Pick<Ledger, 'sealed' | 'read' | 'nowMs'>
  ring: KeyRing
}

/** A secret is not evidence: it is made and read also while the audit is in doubt. */
export const EVEN_FROZEN = { evenFrozen: true }

/** The secrets of a store, opened with the keys of this state folder. */
export class SharedSecrets implements Secrets {
  readonly #parts: SecretsParts
  readonly #known = new Map<string, KnownSecret>()
  readonly #listeners = new Map<SecretName, Listeners<Parameters<SecretListener>>>()

  constructor(parts: SecretsParts) {
    this.#parts = parts
  }

  /** Returns a secret as this process has read it last; undefined when there was none. */
  get(name: SecretName): string | undefined {
    return this.#known.get(name)?.text
  }

  async has(trx: Transaction<LedgerTables>, name: SecretName): Promise<boolean> {
    return (await readSecret(trx, name)) !== undefined
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
      const before = await requireSecret(trx, name)
      const now = await ledger.nowMs(trx)
      const text = await change(ring.open(before), trx, now)
      const sealed = ring.seal(before.keyId, name, text)
      const row = { ...before, sealed, version: before.version + 1, changedAt: now }
      await replaceSecret(trx, row)
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
    const row = await readSecret(trx, name)
    return row?.version === this.#known.get(name)?.version
  }

  /**
   * Reads the secrets that others have changed. One that is older in the store than here was lost
   * with the end of the database, as in a fail-over: it is put back.
   */
  async refresh(): Promise<void> {
    const { ledger, ring } = this.#parts
    const rows = (await ledger.read.selectFrom('secrets').selectAll().execute()).map(
      secretTable.read,
    )
    if (rows.some(({ keyId }) => !ring.ids.includes(keyId))) await ring.reread()
    for (const row of rows) {
      const known = this.#known.get(row.name)
      const isLost = known !== undefined && known.version > row.version
      this.#adopt(isLost ? await this.#putBack(row.name as SecretName, known) : row)
    }
  }

  /** Inserts a secret unless another coordinator has; returns the row that the store has now. */
  async insertNew(trx: SealedTrx, name: SecretName, text: string): Promise<StoredSecret> {
    const { ledger, ring } = this.#parts
    const present = await readSecret(trx, name)
    if (present !== undefined) return present
    const anchor = await readSecret(trx, 'data-keys')
    const keyId = anchor?.keyId ?? (ring.ids[0] as string)
    const sealed = ring.seal(keyId, name, text)
    const row = { name, keyId, sealed, version: 1, changedAt: await ledger.nowMs(trx) }
    await trx.insertInto('secrets').values(secretTable.write(row)).execute()
    return row
  }

  #putBack(name: SecretName, { version, text }: KnownSecret): Promise<StoredSecret> {
    const { ledger, ring } = this.#parts
    return ledger.sealed.write(async trx => {
      const before = await requireSecret(trx, name)
      if (before.version >= version) return before
      const sealed = ring.seal(before.keyId, name, text)
      const row = { ...before, sealed, version, changedAt: await ledger.nowMs(trx) }
      await replaceSecret(trx, row)
      return row
    }, EVEN_FROZEN)
  }

  /** Takes over a row unless a newer one is known already; returns the text. */
  #adopt(row: StoredSecret, isOwn = false): string {
    const { name, version, sealed } = row
    const known = this.#known.get(name)
    if (known !== undefined && (known.version > version || known.sealed === sealed))
      return known.text
    const text = this.#parts.ring.open(row)
    this.#known.set(name, { version, sealed, text })
    if (known !== undefined && known.text !== text)
      this.#listeners.get(name as SecretName)?.notify(text, isOwn)
    return text
  }
}

const replaceSecret = async (trx: SealedTrx, row: StoredSecret): Promise<void> => {
  await trx
    .updateTable('secrets')
    .set(secretTable.write(row))
    .where('name', '=', row.name)
    .execute()
  await bumpRevision(trx, 'secrets')
}

const readSecret = async (
  trx: Transaction<LedgerTables>,
  name: SecretName,
): Promise<StoredSecret | undefined> => {
  const query = trx.selectFrom('secrets').selectAll().where('name', '=', name)
  const row = await query.executeTakeFirst()
  return row && secretTable.read(row)
}

const requireSecret = async (
  trx: Transaction<LedgerTables>,
  name: SecretName,
): Promise<StoredSecret> => {
  const row = await readSecret(trx, name)
  if (row !== undefined) return row
  throw new ShoalError(
    'store_unavailable',
    `the secret ${name} is missing from the store: restart the coordinator`,
  )
}
