import type { Logger } from 'pino'
import type { TierName } from '../../../shared/catalogue.ts'
import { callAfterBy, type Runtime, systemRuntime } from '../../../shared/runtime.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import { Listeners } from '../../kernel/base/listeners.ts'
import type { Key, KeySpec } from '../../kernel/declaration/key.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { Scope } from '../../kernel/store/scope.ts'
import type { Ledger, SealedTrx, Store } from '../../kernel/store/store.ts'
import { enablePerson, type Person } from '../people/people.ts'
import { addTenant, enableTenant, type Tenant } from '../people/tenants.ts'
import { type Approver, listApprovers } from './approvers.ts'
import { addKey, type IssuedKey, recordKey } from './issue.ts'
import { keyTable, type StoredKey } from './key.table.ts'
import { isLive, toKey } from './key.ts'
import {
  type KeyPage,
  readRevocableKey,
  readStoredKey,
  readStoredKeys,
  requireLasting,
  requireStoredKey,
} from './key-rows.ts'
import { OpenAnswers, type OpenAnswersParts } from './open-answers.ts'
import { KEY_PREFIX, newSecret, parseSecret } from './secret.ts'
import { readShownKeys } from './shown-keys.ts'
import { Verifier, type VerifierOptions } from './verifier.ts'

export type { Key } from '../../kernel/declaration/key.ts'
export type { IssuedKey } from './issue.ts'

interface KeysOptions {
  store: Store
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now?: () => number
  later?: OpenAnswersParts['later']
  /** Functions that compare secrets; tests count the comparisons. */
  checking?: Pick<VerifierOptions<Key>, 'digestOf' | 'isEqual'>
  /** Monotonic milliseconds. */
  nowMs?: () => number
  /** Gives what is not given here; that of the system for commands. */
  runtime?: Pick<Runtime, 'now' | 'nowMs' | 'setTimeout'>
}

/** Shortest interval between two writes of a key's last use. */
const TOUCH_EVERY_MS = 60_000

/** API keys: authentication, changes, and the answers that are open under them. */
export class Keys {
  readonly #ledger: Ledger
  readonly #logger: Pick<Logger, 'warn'>
  readonly #now: () => number
  readonly #verifier: Verifier<Key>
  readonly #open: OpenAnswers
  readonly #stopWatching: () => void
  /** Listener for keys that this process has revoked. */
  readonly revocations = new Listeners<[]>()

  constructor(options: KeysOptions) {
    const { store, logger, checking, runtime = systemRuntime } = options
    const { now = runtime.now, nowMs = runtime.nowMs } = options
    const { later = (run, milliseconds) => callAfterBy(runtime)(milliseconds, run) } = options
    const { ledger } = store
    this.#ledger = ledger
    this.#logger = logger
    this.#now = now
    this.#verifier = new Verifier<Key>({
      ...checking,
      isAway: () => ledger.outage() !== undefined || store.revisions.isBehind(),
      lags: store.revisions.lags,
      nowMs,
      lookAfterPause: store.revisions.lookAfterPause,
      load: async id =>
        (await readShownKeys(ledger.read, [id], logger)).map(({ digest, key: value }) => ({
          digest,
          value,
        })),
    })
    this.#open = new OpenAnswers({
      read: async ids => (await readShownKeys(ledger.read, ids, logger)).map(({ key }) => key),
      isCurrent: key => this.#verifier.isKnown(key.id, key),
      logger,
      now,
      later,
    })
    this.#stopWatching = store.revisions.onChange('keys', () => this.#forgetAll())
  }

  /**
   * Returns the key with this secret, unless it is revoked or expired. Synchronous when the key is
   * in memory; malformed input never reaches the store. Rejects with `store_unavailable`.
   * @param onLoad runs before the store is read; what it throws is thrown instead
   */
  authenticate(presented: string, onLoad?: () => void): Key | undefined | Promise<Key | undefined> {
    const id = parseSecret(KEY_PREFIX, presented)
    if (id === undefined) return undefined
    const found = this.#verifier.verify(id, presented, onLoad)
    return found instanceof Promise ? found.then(key => this.#use(key)) : this.#use(found)
  }

  /** Registers an answer that is open under a key until it is released or cut; see `OpenAnswers`. */
  hold(...answer: Parameters<OpenAnswers['hold']>): ReturnType<OpenAnswers['hold']> {
    return this.#open.hold(...answer)
  }

  /** Throws `invalid_request` for a person or tenant that does not exist. */
  async create(spec: KeySpec, by: Actor): Promise<IssuedKey> {
    const issued = await this.#ledger.sealed.write(trx => addKey(trx, spec, by, this.#now()))
    this.#forget(issued.key.id)
    return issued
  }

  /**
   * Adds a second secret; the previous one stays valid until the next rotation or `retire`. Throws
   * `conflict` when the key is revoked or has expired.
   */
  async rotate(id: string, scope: Scope, by: Actor): Promise<IssuedKey> {
    const { text, digest } = newSecret(KEY_PREFIX, id)
    const key = await this.#change(id, scope, { ...by, action: 'key.rotate' }, key => {
      requireLasting(key, this.#now())
      return { digest, previousDigest: key.digest }
    })
    return { key, secret: text }
  }

  /** Ends the secret that the last rotation superseded. */
  retire(id: string, scope: Scope, by: Actor): Promise<Key> {
    return this.#change(id, scope, { ...by, action: 'key.retire' }, () => ({
      previousDigest: undefined,
    }))
  }

  /** Takes effect as `revoke` does. Throws `conflict` as `rotate` does. */
  setTier(id: string, tier: TierName, scope: Scope, by: Actor): Promise<Key> {
    return this.#change(id, scope, { ...by, action: 'key.tier', details: { tier } }, key => {
      requireLasting(key, this.#now())
      return { tier }
    })
  }

  /**
   * Revokes a key, even one that cannot be read. The change takes effect in this process when the
   * promise resolves, and within a second in others.
   */
  async revoke(id: string, scope: Scope, by: Actor): Promise<Key> {
    const key = await this.#change(
      id,
      scope,
      { ...by, action: 'key.revoke' },
      key => ({ revokedAt: key.revokedAt ?? this.#now() }),
      readRevocableKey,
    )
    this.revocations.notify()
    return key
  }

  /** Takes effect for all keys of the person as `revoke` does. Throws `not_found`. */
  enablePerson(id: string, enabled: boolean, scope: Scope, by: Actor): Promise<Person> {
    return this.#enable(trx => enablePerson(trx, { id, enabled, at: this.#now() }, scope, by))
  }

  /** Takes effect for the keys of the tenant and those that may act for it. */
  enableTenant(id: string, enabled: boolean, by: Actor): Promise<Tenant> {
    return this.#enable(trx => enableTenant(trx, { id, enabled, at: this.#now() }, by))
  }

  /** Creates a tenant that this key may act for: no other key could add its first person. */
  async foundTenant(id: string, wanted: { id?: string; name: string }, by: Actor): Promise<Tenant> {
    const founded = await this.#ledger.sealed.write(async trx => {
      const at = this.#now()
      const tenant = await addTenant(trx, wanted, by, at)
      const key = await requireStoredKey(trx, id, 'all')
      const furtherTenants = [...key.furtherTenants, tenant.id]
      await writeKey(trx, id, { furtherTenants })
      const entry = { ...by, at, action: 'key.admit' }
      await recordKey(trx, key, entry, { tenant: tenant.id })
      return tenant
    })
    this.#forget(id)
    return founded
  }

  async get(id: string, scope: Scope): Promise<Key | undefined> {
    const key = await readStoredKey(this.#ledger.read, id, scope)
    return key && toKey(key)
  }

  /** Returns a key as `get` does; one that cannot be read is returned without rights. */
  async getRevocable(id: string, scope: Scope): Promise<Key | undefined> {
    const key = await readStoredKey(this.#ledger.read, id, scope, readRevocableKey)
    return key && toKey(key)
  }

  /** Returns the key as if it were presented now; undefined when it would be refused. */
  async asNow(id: string): Promise<Key | undefined> {
    const [found] = await readShownKeys(this.#ledger.read, [id], this.#logger)
    return found !== undefined && isLive(found.key, this.#now()) ? found.key : undefined
  }

  /** Lists keys: by id with a page, otherwise oldest first. */
  async list(scope: Scope, page?: KeyPage): Promise<Key[]> {
    const found = { scope, page, logger: this.#logger }
    return (await readStoredKeys(this.#ledger.read, found)).map(toKey)
  }

  /** Lists approvers as the function does, for advice: without the keys that cannot be read. */
  listApprovers(tenantId: string): Promise<Approver[]> {
    return listApprovers(this.#ledger.read, tenantId, this.#now(), rows =>
      readEach(rows, keyTable.read, this.#logger),
    )
  }

  close(): void {
    this.#stopWatching()
    this.#open.close()
  }

  /** Records the use of a live key; undefined for another one. */
  #use(key: Key | undefined): Key | undefined {
    const at = this.#now()
    if (key === undefined || !isLive(key, at)) return undefined
    if (at - (key.lastUsedAt ?? 0) >= TOUCH_EVERY_MS) this.#touch(key, at)
    return key
  }

  #touch(key: Key, at: number): void {
    key.lastUsedAt = at
    const written = this.#ledger.free.write(trx =>
      trx.updateTable('keys').set({ last_used_at: at }).where('id', '=', key.id).execute(),
    )
    written.catch(error =>
      this.#logger.warn({ err: error, key: key.id }, 'last use was not written'),
    )
  }

  #forget(id: string): void {
    this.#verifier.forget(id)
    this.#open.look(id)
  }

  #forgetAll(): void {
    this.#verifier.clear()
    this.#open.look()
  }

  /** One audited change of one key. */
  async #change(
    id: string,
    scope: Scope,
    { details, ...entry }: Actor & { action: string; details?: Record<string, unknown> },
    change: (key: StoredKey) => Partial<StoredKey>,
    read = keyTable.read,
  ): Promise<Key> {
    const key = await this.#ledger.sealed.write(async trx => {
      const stored = await requireStoredKey(trx, id, scope, read)
      const fields = change(stored)
      const changed = { ...stored, ...fields }
      await writeKey(trx, id, fields)
      await recordKey(trx, changed, { ...entry, at: this.#now() }, details)
      return toKey(changed)
    })
    this.#forget(id)
    return key
  }

  /** Forgets all keys: the change may affect any of them. */
  async #enable<T>(write: (trx: SealedTrx) => Promise<T>): Promise<T> {
    const changed = await this.#ledger.sealed.write(write)
    this.#forgetAll()
    return changed
  }
}

const writeKey = async (trx: SealedTrx, id: string, fields: Partial<StoredKey>): Promise<void> => {
  await trx.updateTable('keys').set(keyTable.writeSome(fields)).where('id', '=', id).execute()
}
