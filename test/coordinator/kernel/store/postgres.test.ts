import { writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import pino from 'pino'
import t, { type Test } from 'tap'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import { LeaseLeader } from '../../../../coordinator/kernel/leader/lease-leader.ts'
import { createLeases, type HeldLease } from '../../../../coordinator/kernel/leases/leases.ts'
import { claimJobs, endJob } from '../../../../coordinator/kernel/queue/job-claims.ts'
import { createQueue } from '../../../../coordinator/kernel/queue/queue.ts'
import { createProcessRow } from '../../../../coordinator/kernel/replicas/process-row.ts'
import { RegisteredReplicas } from '../../../../coordinator/kernel/replicas/registered-replicas.ts'
import { StoreFault } from '../../../../coordinator/kernel/store/faults.ts'
import { type StorePlace, storePlaceOf } from '../../../../coordinator/kernel/store/place.ts'
import { ConnectionPool } from '../../../../coordinator/kernel/store/postgres/pool.ts'
import { Server } from '../../../../coordinator/kernel/store/postgres/server.ts'
import { type Ledger, openStore, type Store } from '../../../../coordinator/kernel/store/store.ts'
import { markTrouble } from '../../../../coordinator/kernel/store/trouble.ts'
import {
  issueAuthority,
  issueServerCertificate,
} from '../../../../coordinator/kernel/tls/certificate.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { testLeader } from '../../../contracts/leader.ts'
import { testLeases } from '../../../contracts/lease.ts'
import { testStoreContract } from '../../../contracts/store.ts'
import { config } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { findFreePort } from '../../../support/mosquitto.ts'
import {
  administerTests as administer,
  administer as administerIn,
  Cluster,
  createDatabase,
  createStoreDatabase,
  postgresMissing,
} from '../../../support/postgres.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { testKind } from '../queue/scene.ts'
import { temporaryFolder } from './temporary.ts'

const openPlainStore = async (t: Test, address: StorePlace): Promise<Store> => {
  const store = await openStore(address, { pollMilliseconds: 0 })
  t.teardown(() => store.close())
  return store
}

t.test('PostgreSQL keeps the contract of the store', { skip: postgresMissing }, async t => {
  testStoreContract(t, async t => {
    const address = await createStoreDatabase(t)
    return {
      stores: [await openPlainStore(t, address), await openPlainStore(t, address)],
      conflict: () => new StoreFault('conflict', 'could not serialize access', undefined),
    }
  })
})

t.test('leases in PostgreSQL', { skip: postgresMissing }, async t => {
  testLeases(t, async t => {
    const address = await createStoreDatabase(t)
    const holder = async () => {
      const { ledger } = await openPlainStore(t, address)
      return { ledger, leases: createLeases(ledger) }
    }
    const holders = [await holder(), await holder()] as const
    return { holders, advance: milliseconds => shortenTenures(holders[0].ledger, milliseconds) }
  })
})

t.test('the leader by a lease row in PostgreSQL', { skip: postgresMissing }, async t => {
  const tenureMs = 600_000
  testLeader(t, async t => {
    const address = await createStoreDatabase(t)
    let nowMs = 0
    const open = async (owner: string) => {
      const { ledger } = await openPlainStore(t, address)
      const leases = createLeases(ledger)
      const leader = new LeaseLeader({
        leases,
        owner,
        logger: silent,
        runtime: { now: () => nowMs, nowMs: () => nowMs },
        tenureMs,
      })
      t.teardown(() => leader.close())
      return { leader, ledger, campaign: () => leader.campaign() }
    }
    const candidates = [await open('a'), await open('b')] as const
    const advance = async (milliseconds: number) => {
      nowMs += milliseconds
      await shortenTenures(candidates[0].ledger, milliseconds)
    }
    return { candidates, advance, tenureMs }
  })
})

t.test('PostgreSQL', { skip: postgresMissing }, async t => {
  const addTenant = (store: Store, id: string) =>
    store.ledger.free.write(trx =>
      trx.insertInto('tenants').values({ id, name: id, created_at: 1 }).execute(),
    )

  t.test('that was demoted loses all of its connections', async t => {
    const address = await createStoreDatabase(t)
    const store = await openPlainStore(t, address)
    const { database } = address
    await addTenant(store, 'before')
    const demote = (state: 'on' | 'off') =>
      administer(`alter database "${database}" set default_transaction_read_only = ${state}`)
    await demote('on')
    await administer(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
    )
    await t.rejects(addTenant(store, 'refused'), { code: 'store_unavailable' })
    await t.rejects(
      store.ledger.read.selectFrom('tenants').select('id').execute(),
      { code: 'store_unavailable', message: /accepts no writes/ },
      'it is not read either',
    )
    await demote('off')
    await waitUntil('the database is back', () => store.ledger.outage() === undefined)
    await t.resolves(addTenant(store, 'after'), 'the pool has opened new connections')
  })

  t.test(
    'that ends a connection in the middle fails that sealed work alone, and a free one is repeated',
    async t => {
      const address = await createStoreDatabase(t)
      const store = await openPlainStore(t, address)
      const endConnections = () =>
        administer(
          `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = '${address.database}' and state = 'idle in transaction'`,
        )
      let runs = 0
      const interrupt = (write: Write, id: string) =>
        write(async trx => {
          await trx.selectFrom('tenants').select('id').execute()
          if (runs++ === 0) await endConnections()
          await trx.insertInto('tenants').values({ id, name: '', created_at: 1 }).execute()
        })
      await t.rejects(interrupt(store.ledger.sealed.write as Write, 'lost'), {
        code: 'store_unavailable',
      })
      t.equal(runs, 1)
      runs = 0
      await interrupt(store.ledger.free.write, 'repeated')
      t.equal(runs, 2)
      const rows = await store.ledger.read.selectFrom('tenants').select('id').execute()
      t.strictSame(rows, [{ id: 'repeated' }])
    },
  )

  t.test('whose lock is refused at the start of a work is used again afterwards', async t => {
    const address = await createStoreDatabase(t)
    const [one, two] = [await openPlainStore(t, address), await openPlainStore(t, address)]
    const late = await openPlainStore(t, address)
    const cancelWaiting = () =>
      administer(`select pg_cancel_backend(pid) from pg_stat_activity
        where datname = '${address.database}' and wait_event = 'advisory'`)
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const holding = one.ledger.sealed.write(async () => {
      begun.resolve()
      await held.promise
    })
    await begun.promise
    const write = (store: Store, id: string) =>
      store.ledger.sealed.write(trx =>
        trx.insertInto('tenants').values({ id, name: id, created_at: 1 }).execute(),
      )
    const refused = t.rejects(write(late, 'refused'), { code: 'store_unavailable' })
    const cancelling = setInterval(cancelWaiting, 20)
    await refused
    clearInterval(cancelling)
    held.resolve()
    await holding
    await t.resolves(write(late, 'late'))
    await t.resolves(write(two, 'other'))
  })

  t.test('renews leases and is polled for changes ahead of the writes that wait', async t => {
    const store = await openPlainStore(t, await createStoreDatabase(t))
    const { ledger, revisions } = store
    const self = { id: 'rep_1', name: undefined, address: undefined, version: '1.0.0' }
    const replicas = new RegisteredReplicas({
      ledger,
      row: createProcessRow({ ledger, self }),
      self,
      logger: silent,
      runtime: { now: () => 0, nowMs: () => 0 },
    })
    await replicas.register()
    const leases = createLeases(ledger)
    const claim = { name: 'leader', owner: 'a', milliseconds: 60_000 }
    const lease = (await leases.acquire(claim)) as HeldLease
    let done = 0
    const count = async (work: Promise<unknown>) => {
      await work
      done++
    }
    const writes = Array.from({ length: 500 }, (_, n) => count(addTenant(store, `t${n}`)))
    const reads = Array.from({ length: 500 }, () =>
      count(ledger.read.selectFrom('tenants').select('id').execute()),
    )
    await Promise.all([replicas.renew(), leases.renew(lease, 60_000), revisions.poll()])
    t.ok(done < 500, `${done} of 1000 were done before`)
    await Promise.all([...writes, ...reads])
  })

  t.test('goes on with the connections it has when it refuses further ones', async t => {
    const address = await createDatabase(t)
    const user = newId('role').toLowerCase()
    await administer(`create role "${user}" login connection limit 3`)
    t.teardown(() => administer(`drop role "${user}"`))
    const server = await Server.open({ ...address, user })
    t.teardown(() => server.close())
    const pool = new ConnectionPool({
      server,
      connections: 4,
      answerMs: 5000,
      statements: undefined,
    })
    t.teardown(() => pool.end())
    const lent = [await pool.connect(), await pool.connect()]
    const waiting = Array.from({ length: 10 }, async () => (await pool.connect()).release())
    setImmediate(() => {
      for (const connection of lent) connection.release()
    })
    await t.resolves(Promise.all(waiting))
  })

  t.test('serves on while a newer coordinator changes the type of a column', async t => {
    const address = await createStoreDatabase(t)
    const store = await openPlainStore(t, address)
    const { read, free, sealed } = store.ledger
    const change = (type: string) =>
      administerIn(
        address.host,
        `alter table quotas alter column reserved type ${type}`,
        address.database,
      )
    const select = (db: Pick<Ledger['read'], 'selectFrom'>) =>
      db.selectFrom('quotas').select('reserved').where('month', '=', '2026-11').execute()
    const askAll = () => Promise.all([1, 2, 3, 4].flatMap(() => [select(read), free.write(select)]))
    await change('integer')
    for (let n = 0; n < 4; n++) await askAll()
    await change('bigint')
    for (let n = 0; n < 4; n++) await t.resolves(askAll())
    for (const type of ['integer', 'bigint']) {
      for (let n = 0; n < 4; n++) await sealed.write(select)
      await change(type)
      const works = [sealed.write(select), sealed.write(select)]
      await t.resolves(Promise.all(works), 'a group of the sealed lane is run once more')
    }
  })

  t.test('leads and is read while the audit is in doubt', async t => {
    const store = await openPlainStore(t, await createStoreDatabase(t))
    await store.ledger.sealed.write(trx => markTrouble(trx, 'rows are missing', 1))
    await t.rejects(addTenant(store, 'a'), { code: 'audit_broken' })
    const leases = createLeases(store.ledger)
    t.match(await leases.acquire({ name: 'leader', owner: 'a', milliseconds: 1000 }), { epoch: 1 })
  })

  t.test('repeats one of two works that lock rows in opposite order', async t => {
    const store = await openPlainStore(t, await createStoreDatabase(t))
    await addTenant(store, 'a')
    await addTenant(store, 'b')
    const both = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() }
    let attempts = 0
    const renameBoth = (first: 'a' | 'b', second: 'a' | 'b') =>
      store.ledger.free.write(async trx => {
        const rename = (id: string) =>
          trx
            .updateTable('tenants')
            .set({ name: `by ${first}` })
            .where('id', '=', id)
            .execute()
        attempts++
        await rename(first)
        both[first].resolve()
        await both[second].promise
        await rename(second)
      })
    await Promise.all([renameBoth('a', 'b'), renameBoth('b', 'a')])
    t.ok(attempts > 2)
    const names = await store.ledger.read.selectFrom('tenants').select('name').distinct().execute()
    t.equal(names.length, 1, 'each was done as a whole')
  })

  t.test('gives every job to one of many workers, and of a lane one job at a time', async t => {
    const address = await createStoreDatabase(t)
    let retries = 0
    const observer = { onCommit: () => {}, onRetry: () => retries++ }
    const open = async () => {
      const options = { pollMilliseconds: 0, observers: { ledger: observer } }
      const store = await openStore(address, options)
      t.teardown(() => store.close())
      return store.ledger
    }
    const ledgers = [await open(), await open(), await open()] as const
    const kind = testKind()
    const now = () => 1_800_000_000_000
    const queue = createQueue({
      ledger: ledgers[0],
      kinds: () => new Map([['test', kind]]),
      now,
      ids: systemRuntime.ids,
    })
    const total = 240
    const addAll = (laneOf: (n: number) => object) =>
      Promise.all(
        Array.from({ length: total }, (_, n) =>
          queue.add({ kind: 'test', payload: { n }, ...laneOf(n) }),
        ),
      )
    const running = new Set<string>()
    const claimed: string[] = []
    const claim = async (ledger: Ledger): Promise<number> => {
      const options = { limit: 4, worker: 'w', now: now(), logger: silent }
      const { taken } = await claimJobs(ledger, kind, options)
      for (const job of taken) {
        const lane = job.lane ?? job.id
        t.notOk(running.has(lane), 'one at a time')
        running.add(lane)
        claimed.push(job.id)
      }
      for (const job of taken) {
        running.delete(job.lane ?? job.id)
        await ledger.sealed.write(trx => endJob(trx, kind, job, { state: 'done', now: now() }))
      }
      return taken.length
    }
    const workers = ledgers.flatMap(ledger => Array.from({ length: 8 }, () => ledger))
    await addAll(() => ({}))
    const claimAll = async (ledger: Ledger) => {
      while ((await claim(ledger)) > 0);
    }
    await Promise.all(workers.map(claimAll))
    t.equal(new Set(claimed).size, total, 'no claim is empty while jobs are left')
    await addAll(n => ({ lane: `lane-${n % 12}` }))
    const claimLanes = async (ledger: Ledger) => {
      while (claimed.length < 2 * total) await claim(ledger)
    }
    await Promise.all(workers.map(claimLanes))
    t.equal(new Set(claimed).size, 2 * total)
    t.equal(retries, 0, 'no claim has collided with another one')
  })

  t.test('that cannot be used says why', async t => {
    const latin = { ...(await createDatabase(t)), database: newId('db').toLowerCase() }
    const options = `template template0 encoding 'LATIN1' locale_provider libc locale 'C'`
    await administer(`create database "${latin.database}" ${options}`)
    t.teardown(() => administer(`drop database "${latin.database}" with (force)`))
    await t.rejects(openStore(latin), { code: 'config_invalid', message: /LATIN1, not UTF8/ })
    const address = await createStoreDatabase(t)
    for (const [wrong, message] of [
      [{ database: 'absent' }, /PostgreSQL refused: database "absent" does not exist/],
      [{ user: 'nobody' }, /PostgreSQL refused: role "nobody" does not exist/],
      [
        { host: '/nowhere' },
        /cannot be reached \(ENOENT\); the store is at \/nowhere\/\.s\.PGSQL\.5432/,
      ],
    ] as const) {
      const opening = openStore({ ...address, ...wrong }, { pollMilliseconds: 0 })
      await t.rejects(opening, { code: 'store_unavailable', message }, String(message))
    }
  })

  t.test(
    'reports a table as append-only while its triggers do what they were made for',
    async t => {
      const address = await createStoreDatabase(t)
      const { ledger } = await openPlainStore(t, address)
      t.equal(await ledger.isAppendOnly('audit'), true)
      const { database = '', host } = address
      for (const change of [
        'create or replace function audit_no_update() returns trigger language plpgsql as $$ begin return new; end $$',
        'alter table policies disable trigger policies_no_delete',
      ])
        await administerIn(host, change, database)
      t.strictSame(
        [await ledger.isAppendOnly('audit'), await ledger.isAppendOnly('policies')],
        [false, false],
      )
    },
  )

  t.test('stores whole numbers of 64 bits, also in columns of an earlier version', async t => {
    const address = await createStoreDatabase(t)
    const open = () => openStore(address, { pollMilliseconds: 0 })
    const migrated = await open()
    await migrated.close()
    const { database = '', host } = address
    for (const change of [
      'alter table usage alter column duration_ms type integer',
      "delete from kysely_migration_ledger where name = '0080_wide_integers'",
    ])
      await administerIn(host, change, database)
    const store = await openPlainStore(t, address)
    const { rows } = await sql`select 1 from information_schema.columns
      where table_schema = current_schema() and data_type = 'integer'
        and table_name not like 'kysely%'`.execute(store.ledger.read)
    t.strictSame(rows, [])
    await t.rejects(
      store.ledger.free.write(trx => sql`select 9223372036854775807::bigint + 1`.execute(trx)),
      { code: 'invalid_request', message: /too large/ },
    )
  })

  t.test('without a store is refused where one must be', async t => {
    const address = await createDatabase(t)
    await t.rejects(openStore(address, { mustExist: true }), { code: 'not_found' })
    const { database = '', host } = address
    await administerIn(host, 'create table foreign_table (id int)', database)
    await t.rejects(openStore(address, { mustExist: true }), { code: 'not_found' })
    await (await openStore(address)).close()
    await (await openStore(address, { mustExist: true })).close()
  })

  t.test('says nothing of the rows in its errors', async t => {
    const store = await openPlainStore(t, await createStoreDatabase(t))
    await addTenant(store, 'secret-row')
    const error = await addTenant(store, 'secret-row').catch(failure => failure)
    t.notMatch(JSON.stringify(pino.stdSerializers.err(error)), /secret-row/)
  })

  t.test('sorts text by its bytes and refuses what it cannot store', async t => {
    const store = await openPlainStore(t, await createStoreDatabase(t))
    for (const id of ['a', 'B', 'C', '_']) await addTenant(store, id)
    const rows = await store.ledger.read.selectFrom('tenants').select('id').orderBy('id').execute()
    t.strictSame(
      rows.map(({ id }) => id),
      ['B', 'C', '_', 'a'],
    )
    await t.rejects(addTenant(store, 'nul \0'), { code: 'invalid_request' })
  })
})

t.test('the address of a PostgreSQL store', { skip: postgresMissing }, async t => {
  t.test('is refused with a password or with settings of TLS in it', async t => {
    for (const [url, message] of [
      ['postgres://a:secret@localhost/b', /store\.password_file/],
      ['postgres://a@db.example/b?sslmode=disable', /TLS is always used/],
      ['postgres://a@localhost/b?host=db.example', /only \?host=\/folder/],
      ['postgres://a@localhost', /name the database/],
    ] as const) {
      const [issue] = CoordinatorConfig.safeParse({ store: { url } }).error?.issues ?? []
      t.match(issue, { path: ['store', 'url'], message }, url)
    }
  })

  t.test('is taken from the configuration alone', t => {
    const addressOf = (url: string) => storePlaceOf(config({ store: { url } }))
    const address = { port: 5432, user: 'a', database: 'b', password: undefined }
    for (const [url, wanted] of [
      ['postgres://a@[::1]/b', { host: '::1', ssl: false }],
      ['postgres://a@127.0.0.1,localhost:5433/b', { host: '127.0.0.1,localhost', port: 5433 }],
      ['postgres://a@db-1.example,localhost/b', { ssl: { rejectUnauthorized: true } }],
      ['postgres://localhost/b', { user: userInfo().username }],
    ] as const)
      t.match(addressOf(url), { ...address, ...wanted }, url)
    t.end()
  })

  t.test('with an authority is reached over TLS, whose certificate is verified', async t => {
    const validity = { from: Date.now() - 60_000, to: Date.now() + 3_600_000 }
    const [authority, other] = [
      await issueAuthority('test', validity),
      await issueAuthority('other', validity),
    ]
    const { certificate, key } = await issueServerCertificate(authority, ['localhost'], validity)
    const port = await findFreePort()
    const cluster = (await Cluster.create(
      { ssl: 'on', listen_addresses: '127.0.0.1', port: String(port) },
      {
        'server.crt': certificate.toString(),
        'server.key': key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      },
    )) as Cluster
    t.teardown(() => cluster.stop())
    const folder = await temporaryFolder(t)
    const openWith = async (trusted: typeof authority) => {
      const ca_file = join(folder, 'ca.pem')
      await writeFile(ca_file, trusted.certificate.toString())
      const url = `postgres://postgres@localhost:${port}/postgres`
      return openStore(storePlaceOf(config({ store: { url, ca_file } })), { pollMilliseconds: 0 })
    }
    await t.rejects(openWith(other), { code: 'store_unavailable' })
    const store = await openWith(authority)
    const { rows } = await sql<{ ssl: boolean }>`
      select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(store.ledger.read)
    t.strictSame(rows, [{ ssl: true }])
    await store.close()
  })
})

type Write = Ledger['free']['write']

/** The clock of the server stays as it is: the ends of all tenures come nearer instead. */
const shortenTenures = ({ free }: Ledger, milliseconds: number): Promise<unknown> =>
  free.write(trx =>
    trx
      .updateTable('leases')
      .set(row => ({ until: row('until', '-', milliseconds) }))
      .execute(),
  )
