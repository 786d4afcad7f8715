import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { faultOf, isOutage } from '../../../../coordinator/kernel/store/faults.ts'
import { probeStore } from '../../../../coordinator/kernel/store/probe.ts'
import { openStore, type Store } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { Cluster, createDatabase, postgresMissing } from '../../../support/postgres.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { waitUntil } from '../../../support/wait-until.ts'

/* What happens while PostgreSQL is away, by the clock on the wall: the limits are promises. */

const socketOf = (folder: string) => ({ path: `${folder}/.s.PGSQL.5432` })

/** A store behind a network that can fail. */
const scene = async (t: Test) => {
  const { host, ...address } = await createDatabase(t)
  const proxy = await TcpProxy.open(t, socketOf(host))
  const place = { ...address, host: '127.0.0.1', port: proxy.port, ssl: false }
  const store = await openStore(place, { pollMilliseconds: 0 })
  t.teardown(() => store.close())
  return { proxy, store, address: { host, ...address } }
}

const addTenant = ({ ledger }: Store, id: string) =>
  ledger.sealed.write(trx =>
    trx.insertInto('tenants').values({ id, name: id, created_at: 1 }).execute(),
  )

const listTenants = async ({ ledger }: Store): Promise<string[]> => {
  const rows = await ledger.read.selectFrom('tenants').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** Milliseconds that something takes, however it ends. */
const measure = async (run: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now()
  await run().catch(() => {})
  return performance.now() - startedMs
}

const away = { code: 'store_unavailable', retryAfterSeconds: 2 }

t.test('a database that drops every packet', { skip: postgresMissing }, async t => {
  const { proxy, store } = await scene(t)
  const closing = new AbortController()
  t.teardown(() => closing.abort())
  const probe = probeStore(store.ledger, { runtime: systemRuntime, signal: closing.signal })
  await addTenant(store, 'before')
  proxy.blackhole()
  const noticedMs = await measure(async () => {
    const lost = [addTenant(store, 'lost'), listTenants(store)]
    for (const { status, reason } of (await Promise.allSettled(lost)) as PromiseRejectedResult[])
      t.strictSame([status, isOutage(reason)], ['rejected', true])
  })
  t.ok(noticedMs < 3000, `everything under way fails within 3 s (${Math.round(noticedMs)} ms)`)
  t.match(probe.trouble(), /the database is unavailable/)
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: 500 }, () => t.rejects(addTenant(store, 'x'), away)))
  await t.rejects(listTenants(store), away)
  t.ok(performance.now() - startedMs < 1000, 'what comes later fails at once')

  proxy.heal()
  const backMs = await measure(() =>
    waitUntil('the probe is content', () => probe.trouble() === undefined),
  )
  t.ok(backMs < 2000, `it serves again within 2 s (${Math.round(backMs)} ms)`)
  await addTenant(store, 'after')
  t.strictSame(await listTenants(store), ['after', 'before'])

  proxy.blackhole()
  closing.abort()
  t.ok((await measure(() => store.close())) < 6000, 'closing does not wait for it')
})

t.test('a lost answer to a commit', { skip: postgresMissing }, async t => {
  const { proxy, store, address } = await scene(t)
  let runs = 0
  const write = (lane: 'sealed' | 'free', id: string) =>
    (store.ledger[lane].write as Store['ledger']['free']['write'])(async trx => {
      runs++
      await trx.insertInto('tenants').values({ id, name: id, created_at: 1 }).execute()
      // the commit goes out, and its answer never arrives
      proxy.muteServer()
    })
  for (const lane of ['sealed', 'free'] as const) {
    runs = 0
    const error = await write(lane, lane).catch(failure => failure)
    t.match(error, { code: 'store_unavailable', message: /may or may not have been made/ }, lane)
    t.equal(faultOf(error), 'uncertain')
    t.equal(runs, 1, 'the change is not tried again')
    proxy.heal()
    await waitUntil('the database is back', () => store.ledger.outage() === undefined)
  }
  const direct = await openStore(address, { pollMilliseconds: 0 })
  t.teardown(() => direct.close())
  t.strictSame(await listTenants(direct), ['free', 'sealed'], 'here both were made')
})

t.test('a process that was cut off holds no lock for long', { skip: postgresMissing }, async t => {
  const { proxy, store, address } = await scene(t)
  const other = await openStore(address, { pollMilliseconds: 0 })
  t.teardown(() => other.close())
  const holding = store.ledger.sealed.write(async trx => {
    await trx.insertInto('tenants').values({ id: 'lost', name: '', created_at: 1 }).execute()
    proxy.blackhole()
    await trx.selectFrom('tenants').select('id').execute()
  })
  const lost = t.rejects(holding, { code: 'store_unavailable' })
  const blockedMs = await measure(async () => {
    await waitUntil('the network is cut', () => proxy.isBlackhole)
    await addTenant(other, 'other')
  })
  await lost
  t.ok(blockedMs < 5000, `another one writes again after ${Math.round(blockedMs)} ms`)
  t.strictSame(await listTenants(other), ['other'])
})

t.test(
  'a server that is killed and started again under load',
  { skip: postgresMissing },
  async t => {
    const cluster = (await Cluster.create()) as Cluster
    t.teardown(() => cluster.stop())
    const place = { host: cluster.folder, user: 'postgres', database: 'postgres' }
    const store = await openStore(place, { pollMilliseconds: 0 })
    t.teardown(() => store.close())
    const acknowledged: string[] = []
    const stop = new AbortController()
    // a failed test must not leave the load running: every write of a closed store fails at once
    t.teardown(() => stop.abort())
    const load = async (name: string): Promise<void> => {
      for (let n = 0; !stop.signal.aborted; n++) {
        const id = `${name}-${n}`
        const failure = await addTenant(store, id).then(
          () => undefined,
          (error: unknown) => error,
        )
        if (failure === undefined) acknowledged.push(id)
        else {
          t.match(failure, { code: 'store_unavailable' })
          await setTimeout(10)
        }
      }
    }
    const loads = ['a', 'b', 'c'].map(load)
    await waitUntil('some are written', () => acknowledged.length > 50)
    await cluster.crash()
    await waitUntil('the outage is noticed', () => store.ledger.outage() !== undefined)
    await cluster.start()
    const before = acknowledged.length
    const backMs = await measure(() =>
      waitUntil('more are written', () => acknowledged.length > before + 50),
    )
    t.ok(backMs < 2000, `it serves again within 2 s (${Math.round(backMs)} ms)`)
    stop.abort()
    await Promise.all(loads)
    const kept = new Set(await listTenants(store))
    t.strictSame(
      acknowledged.filter(id => !kept.has(id)),
      [],
      'nothing that was acknowledged is lost',
    )
  },
)

t.test('the host that accepts writes is used', { skip: postgresMissing }, async t => {
  const { host, ...address } = await createDatabase(t)
  const gone = '/nowhere'
  const store = await openStore({ ...address, host: `${gone},${host}` }, { pollMilliseconds: 0 })
  t.teardown(() => store.close())
  await addTenant(store, 'a')
  t.strictSame(await listTenants(store), ['a'])
})
