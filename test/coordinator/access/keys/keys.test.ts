import t from 'tap'
import { bootstrap, issueAsOwner } from '../../../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import {
  createPerson,
  getPerson,
  listPeople,
} from '../../../../coordinator/access/people/people.ts'
import {
  createTenant,
  getTenant,
  listTenants,
} from '../../../../coordinator/access/people/tenants.ts'
import { createToken } from '../../../../coordinator/fleet/enrolment/join-tokens.ts'
import type { KeySpec } from '../../../../coordinator/kernel/declaration/key.ts'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import { watchRevisions } from '../../../../coordinator/kernel/store/revisions.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { auditRows, logger, populate, populatedKeys, SPEC } from './fixtures.ts'

const ONE = { tenantId: 'one' }
const TWO = { tenantId: 'two' }

t.test('a key', async t => {
  t.test('is identified by its secret, of which only a digest is stored', async t => {
    const { store, keys } = await populatedKeys(t)
    const { key, secret } = await keys.create({ ...SPEC, label: 'laptop' }, BY)
    t.match(await keys.authenticate(secret), {
      id: key.id,
      tenantId: 'one',
      furtherTenants: [],
      personId: 'ada',
      tier: 'pro',
      roles: ['client'],
      kind: 'person',
      label: 'laptop',
    })
    const rows = await store.ledger.read.selectFrom('keys').selectAll().execute()
    const audit = await auditRows(store)
    t.notOk(JSON.stringify([rows, audit]).includes(secret.slice(17, 40)))
  })

  t.test('is found without waiting once it has been read', async t => {
    const { keys } = await populatedKeys(t)
    const { key, secret } = await keys.create(SPEC, BY)
    t.ok(keys.authenticate(secret) instanceof Promise)
    await keys.authenticate(secret)
    t.match(keys.authenticate(secret), { id: key.id })
  })

  t.test('is refused without a store read when it is noise', async t => {
    const { store, keys } = await populatedKeys(t)
    const { secret } = await keys.create(SPEC, BY)
    const ledger = new Proxy(store.ledger, {
      get: () => t.fail('the store was asked'),
    })
    const others = new Keys({ store: { ...store, ledger }, logger })
    for (const noise of ['', 'svc-dev-nonsense', `${secret.slice(0, -1)}-`, secret.slice(1)])
      t.equal(others.authenticate(noise), undefined)
  })

  t.test('is refused with the id of another key', async t => {
    const { keys } = await populatedKeys(t)
    const first = await keys.create(SPEC, BY)
    const other = await keys.rotate(first.key.id, ONE, BY)
    await keys.rotate(first.key.id, ONE, BY)
    t.equal(await keys.authenticate(first.secret), undefined, 'two secrets live, not three')
    t.match(await keys.authenticate(other.secret), { id: first.key.id })
  })

  t.test('belongs only to a person of its tenant and names only existing tenants', async t => {
    const { store, keys } = await populatedKeys(t)
    const wrong = [
      { ...SPEC, personId: 'nobody' },
      { ...SPEC, personId: 'bob' },
      { ...SPEC, tenantId: 'three' },
      { ...SPEC, furtherTenants: ['two', 'three'] },
      { ...SPEC, tier: 'gold' as 'pro' },
      { ...SPEC, roles: [] },
    ]
    for (const spec of wrong) await t.rejects(keys.create(spec, BY), { code: 'invalid_request' })
    t.strictSame(await keys.list('all'), [])
    t.notOk((await auditRows(store)).some(row => row.action === 'key.create'))
    t.match((await keys.create({ ...SPEC, furtherTenants: ['two'] }, BY)).key, {
      furtherTenants: ['two'],
    })
  })

  t.test('is refused and not listed while its row cannot be read; the others work', async t => {
    const reasons: unknown[] = []
    const warn = (fields: unknown) => reasons.push((fields as { reason: string }).reason)
    const { store, keys } = await populatedKeys(t, { logger: { warn } })
    const [first, damaged, last] = [
      await keys.create(SPEC, BY),
      await keys.create(SPEC, BY),
      await keys.create(SPEC, BY),
    ].toSorted((a, b) => (a.key.id < b.key.id ? -1 : 1))
    if (first === undefined || damaged === undefined || last === undefined)
      throw new Error('no key')
    await store.ledger.free.write(trx =>
      trx
        .updateTable('keys')
        .set({ tier: 'of a newer version' as 'pro' })
        .where('id', '=', damaged.key.id)
        .execute(),
    )
    t.equal(await keys.authenticate(damaged.secret), undefined)
    t.match(reasons.splice(0), [`keys (id ${damaged.key.id}): column tier is damaged`])
    t.match(await keys.authenticate(last.secret), { id: last.key.id })
    t.equal((await keys.list('all')).length, 2)
    const page = await keys.list(ONE, { limit: 2 })
    t.strictSame(
      page.map(({ id }) => id),
      [first.key.id, last.key.id],
      'a page is full, so that the next one is read',
    )
    t.equal(reasons.length, 0, 'it is logged once')
  })

  t.test('that cannot be read blocks only the owner, who can revoke it', async t => {
    const { store, keys } = await populatedKeys(t)
    const spec: KeySpec = { ...SPEC, roles: ['client', 'operator_admin'] }
    const sound = await keys.create(spec, BY)
    const { key } = await keys.create(spec, BY)
    await store.ledger.free.write(trx =>
      trx.updateTable('keys').set({ roles_json: '["pilot"]' }).where('id', '=', key.id).execute(),
    )
    t.match(await keys.listApprovers('one'), { length: 1, 0: { personId: sound.key.personId } })
    const asOwner = () => issueAsOwner(store, spec, BY)
    await t.rejects(asOwner(), { code: 'internal', message: key.id }, 'it may be an approver')
    await t.rejects(keys.revoke(key.id, TWO, BY), { code: 'not_found' })
    t.match(await keys.revoke(key.id, ONE, BY), { id: key.id, roles: [], tenantId: 'one' })
    const row = { action: 'key.revoke', subject: key.id, tenant: 'one' }
    t.match((await auditRows(store)).at(-1), row)
    t.ok(await asOwner())
  })

  t.test('expires on the millisecond even while it is in memory', async t => {
    let now = 1000
    const { keys } = await populatedKeys(t, { now: () => now })
    const { secret } = await keys.create({ ...SPEC, expiresAt: 2000 }, BY)
    t.match(await keys.authenticate(secret), { expiresAt: 2000 })
    now = 1999
    t.ok(keys.authenticate(secret))
    now = 2000
    t.equal(keys.authenticate(secret), undefined)
  })

  t.test('is refused as soon as it is revoked, and cannot be restored', async t => {
    const { store, keys } = await populatedKeys(t)
    const { key, secret } = await keys.create(SPEC, BY)
    await keys.authenticate(secret)
    const revoked = await keys.revoke(key.id, ONE, BY)
    t.equal(await keys.authenticate(secret), undefined)
    t.strictSame((await keys.revoke(key.id, ONE, BY)).revokedAt, revoked.revokedAt)
    await t.rejects(keys.rotate(key.id, ONE, BY), { code: 'conflict' })
    t.match(await keys.get(key.id, ONE), { revokedAt: Number })
    t.equal((await auditRows(store)).filter(row => row.action === 'key.revoke').length, 2)
  })

  t.test('is refused after the next check when another process revokes it', async t => {
    const folder = await temporaryFolder(t)
    const { store, keys } = await populatedKeys(t, {}, folder)
    const { key, secret } = await keys.create(SPEC, BY)
    await store.revisions.poll()
    await keys.authenticate(secret)
    const other = new Keys({ store: await temporaryStore(t, folder), logger })
    await other.revoke(key.id, 'all', BY)
    t.match(keys.authenticate(secret), { id: key.id }, 'still in memory')
    await store.revisions.poll()
    t.equal(await keys.authenticate(secret), undefined)
  })

  t.test('is known after the next check when another process creates it', async t => {
    const folder = await temporaryFolder(t)
    const { store, keys } = await populatedKeys(t, {}, folder)
    const otherStore = await temporaryStore(t, folder)
    const other = new Keys({ store: otherStore, logger })
    const { key, secret } = await other.create(SPEC, BY)
    t.match(await keys.authenticate(secret), { id: key.id })
    await store.revisions.poll()
    t.match(await keys.authenticate(secret), { id: key.id })
  })

  t.test('has two live secrets between rotation and retirement', async t => {
    const { store, keys } = await populatedKeys(t)
    const old = await keys.create(SPEC, BY)
    await keys.authenticate(old.secret)
    const rotated = await keys.rotate(old.key.id, ONE, BY)
    t.match(await keys.authenticate(old.secret), { id: old.key.id })
    t.match(await keys.authenticate(rotated.secret), { id: old.key.id })
    await keys.retire(old.key.id, ONE, BY)
    t.equal(await keys.authenticate(old.secret), undefined)
    t.match(await keys.authenticate(rotated.secret), { id: old.key.id })
    const actions = (await auditRows(store)).slice(-3).map(row => row.action)
    t.strictSame(actions, ['key.create', 'key.rotate', 'key.retire'])
  })

  t.test('has its last use written at most once a minute', async t => {
    let now = 1_000_000
    const { store, keys } = await populatedKeys(t, { now: () => now })
    const { key, secret } = await keys.create(SPEC, BY)
    const used = async () => {
      await store.ledger.sealed.write(async () => {})
      return (await keys.get(key.id, ONE))?.lastUsedAt
    }
    for (const [at, written] of [
      [1_000_000, 1_000_000],
      [1_059_999, 1_000_000],
      [1_060_000, 1_060_000],
    ] as const) {
      now = at
      await keys.authenticate(secret)
      await waitUntil(`the use is written at ${at}`, async () => (await used()) === written)
    }
  })

  t.test('stays valid while its last use cannot be written', async t => {
    const { store, keys } = await populatedKeys(t)
    const { secret } = await keys.create(SPEC, BY)
    const warned: unknown[] = []
    const ledger = withChangeHook(store.ledger, async () => {
      throw new RangeError('full')
    })
    const others = new Keys({
      store: { ...store, ledger },
      logger: { warn: (fields: unknown) => warned.push(fields) },
    })
    t.ok(await others.authenticate(secret))
    t.match(warned, [{ err: { message: 'full' } }])
  })

  t.test('is visible only in its tenant, and to keys that may see all tenants', async t => {
    const { keys } = await populatedKeys(t)
    const { key } = await keys.create(SPEC, BY)
    t.match(await keys.get(key.id, ONE), { id: key.id })
    t.match(await keys.get(key.id, 'all'), { id: key.id })
    t.equal(await keys.get(key.id, TWO), undefined)
    t.equal((await keys.list(ONE)).length, 1)
    t.equal((await keys.list('all')).length, 1)
    t.strictSame(await keys.list(TWO), [])
    for (const verb of ['revoke', 'retire', 'rotate'] as const)
      await t.rejects(keys[verb](key.id, TWO, BY) as Promise<unknown>, { code: 'not_found' })
  })
})

t.test('tenants and persons', async t => {
  t.test('are created once, audited, and visible in their scope', async t => {
    const store = await temporaryStore(t)
    const { ledger } = store
    await populate(store)
    t.match(await getTenant(ledger, 'one'), { id: 'one', name: 'one' })
    t.equal(await getTenant(ledger, 'three'), undefined)
    t.strictSame(
      (await listTenants(ledger, 'all')).map(tenant => tenant.id),
      ['one', 'two'],
    )
    t.match(await listTenants(ledger, ONE), [{ id: 'one' }])
    t.match(await getPerson(ledger, 'ada', ONE), { id: 'ada', tenantId: 'one' })
    t.equal(await getPerson(ledger, 'ada', TWO), undefined)
    t.match(await listPeople(ledger, TWO), [{ id: 'bob' }])
    t.equal((await listPeople(ledger, 'all')).length, 2)
    const actions = (await auditRows(store)).map(row => row.action)
    t.strictSame(actions, ['tenant.create', 'person.create', 'tenant.create', 'person.create'])
  })

  t.test('cannot be created twice, or where they do not belong', async t => {
    const store = await temporaryStore(t)
    const { ledger } = store
    await populate(store)
    await t.rejects(createTenant(ledger, { id: 'one', name: '' }, BY), { code: 'conflict' })
    const person = { id: 'ada', tenantId: 'one', name: '' }
    await t.rejects(createPerson(ledger, person, BY), { code: 'conflict' })
    const lost = { tenantId: 'three', name: '' }
    await t.rejects(createPerson(ledger, lost, BY), { code: 'conflict' })
    for (const id of ['', 'A', '../x', 'a b', 'x'.repeat(65)])
      await t.rejects(createTenant(ledger, { id, name: '' }, BY), { code: 'invalid_request' })
    t.equal((await auditRows(store)).length, 4)
  })
})

t.test('the tier of a key', async t => {
  t.test('changes at once and is audited, but not after revocation', async t => {
    const { store, keys } = await populatedKeys(t)
    const { key, secret } = await keys.create(SPEC, BY)
    t.match(await keys.authenticate(secret), { tier: 'pro' })
    t.match(await keys.setTier(key.id, 'free', ONE, BY), { tier: 'free' })
    t.match(await keys.authenticate(secret), { tier: 'free' })
    t.match((await auditRows(store)).at(-1), {
      action: 'key.tier',
      subject: key.id,
      details: { tier: 'free' },
    })
    await keys.revoke(key.id, ONE, BY)
    await t.rejects(keys.setTier(key.id, 'pro', ONE, BY), { code: 'conflict' })
  })
})

t.test('what is created without a time has that of the store, in the audit too', async t => {
  const store = await temporaryStore(t, undefined, { now: () => 1_700_000_000_000 })
  const { ledger } = store
  await bootstrap(store)
  await createTenant(ledger, { id: 'later', name: 'later' }, BY)
  const { createdAt } = await createPerson(ledger, { tenantId: 'later', name: 'x' }, BY)
  const { token } = await createToken(ledger, { uses: 1, ttlMinutes: 1 }, BY)
  t.strictSame([createdAt, token.expiresAt], [1_700_000_000_000, 1_700_000_060_000])
  t.strictSame([...new Set((await auditRows(store)).map(({ at }) => at))], [1_700_000_000_000])
})

t.test('a coordinator that was paused looks at the store before it admits a key', async t => {
  const folder = await temporaryFolder(t)
  const [near, paused] = [await temporaryStore(t, folder), await temporaryStore(t, folder)]
  await populate(near)
  const clock = { ms: 0 }
  // so rare that only the look after the pause can tell
  const watch = {
    pollMilliseconds: 3_600_000,
    isShared: true,
    runtime: { ...systemRuntime, nowMs: () => clock.ms },
  }
  const revisions = watchRevisions(paused.ledger, watch)
  t.teardown(() => revisions.close())
  await revisions.poll()
  const keys = new Keys({ store: near, logger })
  const far = new Keys({ store: { ...paused, revisions }, logger })
  t.teardown(() => {
    keys.close()
    far.close()
  })
  const { key, secret } = await keys.create(SPEC, BY)
  t.ok(await far.authenticate(secret))
  await keys.revoke(key.id, 'all', BY)
  t.ok(await far.authenticate(secret), 'it has not looked since')
  clock.ms += 600
  t.equal(await far.authenticate(secret), undefined)
})
