import type { Logger } from 'pino'
import type { TierName } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { Actor } from '../audit/audit.ts'
import { enablePerson, type Person } from '../people/people.ts'
import { addTenant, enableTenant, type Tenant } from '../people/tenants.ts'
import type { KeyRow } from '../store/key-tables.ts'
import { inScope, type Scope } from '../store/scope.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import { addKey, type IssuedKey, recordKey } from './issue.ts'
import { isLive, type Key, type KeySpec, keyOf } from './key.ts'
import { OpenAnswers, type OpenAnswersParts } from './open-answers.ts'
import { KEY_PREFIX, newSecret, parseSecret } from './secret.ts'
import { readShownKeys } from './shown-keys.ts'
import { Verifier, type VerifierOptions } from './verifier.ts'

export type { IssuedKey } from './issue.ts'
export type { Key } from './key.ts'

export interface Keys {
  /**
   * The key whose secret this is, unless it is revoked or expired. Synchronous when the key is in
   * memory; noise never reaches the store. Rejects with `store_unavailable`.
   */
  authenticate(presented: string): Key | undefined | Promise<Key | undefined>
  /**
   * Something that stays open under a key, until it is released or, within a second after the key
   * may not have it any more, cut. See `OpenAnswers`.
   */
  hold: OpenAnswers['hold']
  /** Throws `invalid_request` for a person or tenant that does not exist. */
  create(spec: KeySpec, by: Actor): Promise<IssuedKey>
  /**
   * A second secret; the one before stays good until the next rotation or `retire`. Throws
   * `conflict` when the key is revoked or has expired.
   */
  rotate(id: string, scope: Scope, by: Actor): Promise<IssuedKey>
  /** Ends the secret from before the last rotation. */
  retire(id: string, scope: Scope, by: Actor): Promise<Key>
  /** What the key may use from now on; effective as `revoke` is. Throws `conflict` as `rotate` does. */
  setTier(id: string, tier: TierName, scope: Scope, by: Actor): Promise<Key>
  /** Effective when it resolves here, and within a second in other processes. */
  revoke(id: string, scope: Scope, by: Actor): Promise<Key>
  /** Effective for all keys of the person as `revoke` is. Throws `not_found`. */
  enablePerson(id: string, enabled: boolean, scope: Scope, by: Actor): Promise<Person>
  /** The same for everybody in a tenant, and for who else acts for it. */
  enableTenant(id: string, enabled: boolean, by: Actor): Promise<Tenant>
  /** A new tenant that this key may act for: nobody else could let anybody in. */
  foundTenant(id: string, tenant: { id?: string; name: string }, by: Actor): Promise<Tenant>
  get(id: string, scope: Scope): Promise<Key | undefined>
  /** A key as if it were shown now; undefined when it would be refused. */
  asNow(id: string): Promise<Key | undefined>
  /** By id with a page, else oldest first. */
  list(scope: Scope, page?: KeyPage): Promise<Key[]>
  close(): void
}

export interface KeyPage {
  limit: number
  /** The last id of the page before. */
  after?: string | undefined
  /** Keys of this person alone. */
  personId?: string | undefined
}

export interface KeysOptions {
  store: Store
  logger: Pick<Logger, 'warn'>
  now?: () => number
  later?: OpenAnswersParts['later']
  /** How secrets are compared; a test counts. */
  checking?: Pick<VerifierOptions<Key>, 'digestOf' | 'isEqual'>
}

/** A key's last use is written at most this often. */
const TOUCH_EVERY_MS = 60_000

export const createKeys = (options: KeysOptions): Keys => {
  const { store, logger, now = Date.now, later, checking } = options
  const { ledger } = store
  const verifier = new Verifier<Key>({
    ...checking,
    load: async id =>
      (await readShownKeys(ledger.read, [id])).map(({ digest, key: value }) => ({ digest, value })),
  })
  const open = new OpenAnswers({
    read: async ids => (await readShownKeys(ledger.read, ids)).map(({ key }) => key),
    isCurrent: key => verifier.isKnown(key.id, key),
    ...{ logger, now, later },
  })
  const changed = (id: string): void => {
    verifier.forget(id)
    open.look(id)
  }
  const allChanged = (): void => {
    verifier.clear()
    open.look()
  }
  const stopWatching = store.revisions.onChange('keys', allChanged)

  const live = (key: Key | undefined): Key | undefined => {
    const at = now()
    if (key === undefined || !isLive(key, at)) return undefined
    if (at - (key.lastUsedAt ?? 0) >= TOUCH_EVERY_MS) touch(key, at)
    return key
  }

  const touch = (key: Key, at: number): void => {
    key.lastUsedAt = at
    const written = ledger.free.write(trx =>
      trx.updateTable('keys').set({ last_used_at: at }).where('id', '=', key.id).execute(),
    )
    written.catch(error => logger.warn({ err: error, key: key.id }, 'last use was not written'))
  }

  const authenticate: Keys['authenticate'] = presented => {
    const id = parseSecret(KEY_PREFIX, presented)
    if (id === undefined) return undefined
    const found = verifier.verify(id, presented)
    return found instanceof Promise ? found.then(live) : live(found)
  }

  /** One audited change of one key. */
  const change = async (
    id: string,
    scope: Scope,
    { details, ...entry }: Actor & { action: string; details?: Record<string, unknown> },
    values: (row: KeyRow) => Partial<KeyRow>,
  ): Promise<Key> => {
    const key = await ledger.sealed.write(async trx => {
      const row = await existing(trx, id, scope)
      const next = values(row)
      const changed = { ...row, ...next }
      await trx.updateTable('keys').set(next).where('id', '=', id).execute()
      await recordKey(trx, changed, { ...entry, at: now() }, details)
      return keyOf(changed)
    })
    changed(id)
    return key
  }

  const create: Keys['create'] = async (input, by) => {
    const issued = await ledger.sealed.write(trx => addKey(trx, input, by, now()))
    changed(issued.key.id)
    return issued
  }

  const rotate: Keys['rotate'] = async (id, scope, by) => {
    const { text, digest } = newSecret(KEY_PREFIX, id)
    const key = await change(id, scope, { ...by, action: 'key.rotate' }, row => {
      requireLasting(row, now())
      return { digest, previous_digest: row.digest }
    })
    return { key, secret: text }
  }

  const setTier: Keys['setTier'] = (id, tier, scope, by) =>
    change(id, scope, { ...by, action: 'key.tier', details: { tier } }, row => {
      requireLasting(row, now())
      return { tier }
    })

  const foundTenant: Keys['foundTenant'] = async (id, wanted, by) => {
    const made = await ledger.sealed.write(async trx => {
      const tenant = await addTenant(trx, wanted, by)
      const row = await existing(trx, id, 'all')
      const further_tenants_json = JSON.stringify([...keyOf(row).furtherTenants, tenant.id])
      await trx.updateTable('keys').set({ further_tenants_json }).where('id', '=', id).execute()
      const entry = { ...by, at: now(), action: 'key.admit' }
      await recordKey(trx, row, entry, { tenant: tenant.id })
      return tenant
    })
    changed(id)
    return made
  }

  /** Any of its keys may be in memory. */
  const enable = async <T>(write: (trx: SealedTrx) => Promise<T>): Promise<T> => {
    const changed = await ledger.sealed.write(write)
    allChanged()
    return changed
  }

  const list: Keys['list'] = async (scope, page) => {
    let query = ledger.read.selectFrom('keys').selectAll()
    if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
    if (page === undefined) query = query.orderBy('created_at').orderBy('id')
    else query = query.orderBy('id').limit(page.limit)
    if (page?.after !== undefined) query = query.where('id', '>', page.after)
    if (page?.personId !== undefined) query = query.where('person_id', '=', page.personId)
    return (await query.execute()).map(keyOf)
  }

  return {
    authenticate,
    hold: (key, held) => open.hold(key, held),
    create,
    enablePerson: (id, enabled, scope, by) =>
      enable(trx => enablePerson(trx, { id, enabled, at: now() }, scope, by)),
    enableTenant: (id, enabled, by) =>
      enable(trx => enableTenant(trx, { id, enabled, at: now() }, by)),
    rotate,
    foundTenant,
    setTier,
    list,
    retire: (id, scope, by) =>
      change(id, scope, { ...by, action: 'key.retire' }, () => ({ previous_digest: null })),
    revoke: (id, scope, by) =>
      change(id, scope, { ...by, action: 'key.revoke' }, row => ({
        revoked_at: row.revoked_at ?? now(),
      })),
    get: async (id, scope) => {
      const row = await read(store, id)
      return row && inScope(scope, row.tenant_id) ? keyOf(row) : undefined
    },
    asNow: async id => {
      const [found] = await readShownKeys(ledger.read, [id])
      return found !== undefined && isLive(found.key, now()) ? found.key : undefined
    },
    close: () => {
      stopWatching()
      open.close()
    },
  }
}

const existing = async (trx: SealedTrx, id: string, scope: Scope): Promise<KeyRow> => {
  const row = await trx.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined || !inScope(scope, row.tenant_id))
    throw new ShoalError('not_found', `no key ${id}`)
  return row
}

const read = ({ ledger }: Store, id: string): Promise<KeyRow | undefined> =>
  ledger.read.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()

/** What has ended stays as it is. */
const requireLasting = ({ id, revoked_at, expires_at }: KeyRow, now: number): void => {
  if (revoked_at !== null) throw new ShoalError('conflict', `key ${id} is revoked`)
  if ((expires_at ?? Infinity) <= now) throw new ShoalError('conflict', `key ${id} has expired`)
}
