import t, { type Test } from 'tap'
import { initialise, issueAsOwner } from '../../../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { digestOf, newSecret } from '../../../../coordinator/access/keys/secret.ts'
import { Verifier } from '../../../../coordinator/access/keys/verifier.ts'
import { createPerson } from '../../../../coordinator/access/people/people.ts'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import { openStore, type Store } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createStoreDatabase, postgresMissing } from '../../../support/postgres.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY } from '../../kernel/store/temporary.ts'
import { logger, populate, SPEC } from './fixtures.ts'

/** Two coordinators on one database; the network of the second one can fail. */
const twoCoordinators = async (t: Test) => {
  const { host, ...address } = await createStoreDatabase(t)
  const proxy = await TcpProxy.open(t, { path: `${host}/.s.PGSQL.5432` })
  const places = [
    { ...address, host },
    { ...address, host: '127.0.0.1', port: proxy.port, ssl: false },
  ]
  const open = async (place: Parameters<typeof openStore>[0]) => {
    const store = await openStore(place)
    const keys = new Keys({ store, logger })
    t.teardown(async () => {
      keys.close()
      await store.close()
    })
    return { store, keys }
  }
  const [near, far] = [await open(places[0] as never), await open(places[1] as never)]
  await populate(near.store)
  return { near, far, proxy }
}

const skip = postgresMissing

t.test('a change of a key takes effect on every coordinator within a second', { skip }, async t => {
  const { near, far } = await twoCoordinators(t)
  const { key, secret } = await near.keys.create(SPEC, BY)
  t.match(await far.keys.authenticate(secret), { tier: 'pro' })
  const measure = async (what: string, isDone: () => Promise<boolean>): Promise<void> => {
    const startedMs = performance.now()
    await waitUntil(what, isDone)
    const tookMs = Math.round(performance.now() - startedMs)
    t.ok(tookMs < 1000, `${what} after ${tookMs} ms`)
  }
  await near.keys.setTier(key.id, 'free', 'all', BY)
  await measure('the tier changes', async () => {
    return (await far.keys.authenticate(secret))?.tier === 'free'
  })
  await near.keys.revoke(key.id, 'all', BY)
  await measure('the key is refused', async () => {
    return (await far.keys.authenticate(secret)) === undefined
  })
})

t.test('a new key or secret is admitted at once on every coordinator', { skip }, async t => {
  const { near, far } = await twoCoordinators(t)
  const { key, secret } = await near.keys.create(SPEC, BY)
  t.match(await far.keys.authenticate(secret), { id: key.id })
  const { secret: rotated } = await near.keys.rotate(key.id, 'all', BY)
  t.match(await far.keys.authenticate(rotated), { id: key.id }, 'of a key in memory')

  await t.test('and guesses occupy the database four times a second for each key', async t => {
    let reads = 0
    const verifier = new Verifier<string>({
      nowMs: systemRuntime.nowMs,
      lags: true,
      load: async () => {
        reads++
        return [{ value: 'key', digest: digestOf('right').toString('hex') }]
      },
    })
    t.equal(await verifier.verify('id', 'right'), 'key')
    const guesses = Array.from({ length: 50 }, () => verifier.verify('id', 'wrong'))
    t.strictSame([...new Set(await Promise.all(guesses)), reads], [undefined, 2])
  })
})

t.test('the owner of the store who runs two programs at once', { skip }, async t => {
  const { near, far } = await twoCoordinators(t)
  const stores = [near.store, far.store] as const
  const tryBoth = async (run: (store: Store, index: number) => Promise<unknown>) => {
    const outcomes = await Promise.allSettled(stores.map(run))
    const failed = outcomes.flatMap(one => (one.status === 'rejected' ? [one.reason.code] : []))
    t.strictSame(failed, ['conflict'], 'one succeeds and the other is refused')
  }

  await t.test('makes one first operator', async () => {
    await tryBoth((store, index) =>
      initialise(store, { tenantId: 'first', personName: `operator ${index}` }, BY),
    )
  })

  await t.test('gives the second person who can approve a key, and no third one', async () => {
    for (const id of ['acme-0', 'acme-1', 'acme-2', 'acme-3']) {
      await createTenant(near.store.ledger, { id, name: id }, BY)
      const issue = async (store: Store, name: string) => {
        const person = await createPerson(store.ledger, { tenantId: id, name }, BY)
        const roles = ['client' as const, 'operator_admin' as const]
        return () =>
          issueAsOwner(store, { tenantId: id, personId: person.id, tier: 'pro', roles }, BY)
      }
      await (await issue(near.store, 'first'))()
      const others = await Promise.all(stores.map((store, n) => issue(store, `other ${n}`)))
      await tryBoth((_, index) => (others[index] as () => Promise<unknown>)())
    }
  })
})

t.test('while the database is away', { skip }, async t => {
  const { near, far, proxy } = await twoCoordinators(t)
  const { key, secret } = await near.keys.create(SPEC, BY)
  const unknown = newSecret('svc-dev-').text
  t.ok(await far.keys.authenticate(secret))
  t.equal(await far.keys.authenticate(unknown), undefined)
  proxy.blackhole()
  await waitUntil('the outage is noticed', () => far.store.ledger.outage() !== undefined)

  t.match(far.keys.authenticate(secret), { id: key.id }, 'a key that is in memory serves')
  const refused = { code: 'store_unavailable' }
  const { secret: rotated } = await near.keys.rotate(key.id, 'all', BY)
  for (const presented of [unknown, newSecret('svc-dev-').text, rotated])
    await t.rejects(
      async () => far.keys.authenticate(presented),
      refused,
      'nobody is told that a key is wrong',
    )

  proxy.heal()
  await waitUntil('the database is back', () => far.store.ledger.outage() === undefined)
  t.match(await far.keys.authenticate(rotated), { id: key.id })
  t.equal(await far.keys.authenticate(unknown), undefined)
})
