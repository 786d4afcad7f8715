import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql, type Transaction } from 'kysely'
import t, { type Test } from 'tap'
import type { Database } from '../../../../coordinator/kernel/store/engine.ts'
import { StoreFault } from '../../../../coordinator/kernel/store/faults.ts'
import { ledgerMigrations } from '../../../../coordinator/kernel/store/migrations.ts'
import { bumpRevision, watchRevisions } from '../../../../coordinator/kernel/store/revisions.ts'
import { sqliteEngine } from '../../../../coordinator/kernel/store/sqlite/sqlite-engine.ts'
import { openStore, type Store } from '../../../../coordinator/kernel/store/store.ts'
import type { LedgerTables } from '../../../../coordinator/kernel/store/tables.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { testStoreContract } from '../../../contracts/store.ts'
import { notInFiles, temporaryFolder, temporaryStore } from './temporary.ts'

const addTenant = async (trx: Transaction<LedgerTables>, id: string): Promise<string> => {
  await trx.insertInto('tenants').values({ id, name: id, created_at: 1 }).execute()
  return id
}

/**
 * Opens a store without the hooks of the coordinator: works run as often as the engine itself runs
 * them.
 */
const plainStore = async (t: Pick<Test, 'teardown'>, folder: string): Promise<Store> => {
  const store = await openStore(folder, { pollMilliseconds: 0 })
  t.teardown(() => store.close())
  return store
}

/** A setting of the writing connection. */
const pragma = async <T>({ sealed }: Database<T>, text: string): Promise<unknown> => {
  const { rows } = await sealed.write(trx => sql.raw<object>(`pragma ${text}`).execute(trx))
  return Object.values(rows[0] ?? {})[0]
}

const tenantIds = async (store: Store): Promise<string[]> => {
  const rows = await store.ledger.read.selectFrom('tenants').select('id').orderBy('id').execute()
  return rows.map(row => row.id)
}

t.test('opening', { skip: notInFiles }, async t => {
  t.test('only the owner can enter the folder and read the files', async t => {
    const folder = await temporaryFolder(t)
    await chmod(folder, 0o755)
    const store = await temporaryStore(t, join(folder, 'state'))
    await store.ledger.sealed.write(trx => addTenant(trx, 'a'))
    const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
    t.equal(await mode(join(folder, 'state')), '700')
    const names = await readdir(join(folder, 'state'))
    t.ok(names.includes('ledger.db-wal'))
    for (const name of names) t.equal(await mode(join(folder, 'state', name)), '600', name)
  })

  t.test('a folder that others could enter is made private', async t => {
    const folder = join(await temporaryFolder(t), 'state')
    await mkdir(folder, { mode: 0o777 })
    await temporaryStore(t, folder)
    t.equal((await stat(folder)).mode & 0o777, 0o700)
  })

  t.test('written data is present after reopening', async t => {
    const folder = await temporaryFolder(t)
    const first = await openStore(folder)
    await first.ledger.sealed.write(trx => addTenant(trx, 'a'))
    await first.close()
    t.strictSame(await tenantIds(await temporaryStore(t, folder)), ['a'])
  })

  t.test('a store written by a newer shoal is refused and left unchanged', async t => {
    const folder = await temporaryFolder(t)
    const store = await openStore(folder)
    await store.ledger.sealed.write(async trx => {
      const newer = trx as unknown as Transaction<{ kysely_migration: Record<string, string> }>
      const row = { name: '9999_newer', timestamp: '' }
      await newer.insertInto('kysely_migration').values(row).execute()
    })
    await store.close()
    await t.rejects(openStore(folder), { code: 'config_invalid', message: /9999_newer/ })
  })

  t.test('a ledger with only some of the newest migrations gets the others', async t => {
    const engine = sqliteEngine(await temporaryFolder(t))
    const migrations = ledgerMigrations(engine.schema)
    const names = Object.keys(migrations)
    const twins = names.filter(name => /^001[45]_/.test(name))
    const before = names.slice(0, names.indexOf(twins[0] as string))
    for (const some of [[], ...twins.map(name => [name])]) {
      const folder = await temporaryFolder(t)
      const kept = [...before, ...some].map(name => [name, migrations[name]])
      const older = await sqliteEngine(folder).open<LedgerTables>({
        name: 'ledger',
        survives: 'power_loss',
        migrations: Object.fromEntries(kept),
      })
      await older.free.write(trx => addTenant(trx, 'a'))
      await older.close()
      const store = await temporaryStore(t, folder)
      const tenant = await store.ledger.read.selectFrom('tenants').selectAll().execute()
      t.strictSame(tenant, [{ id: 'a', name: 'a', created_at: 1, disabled_at: null }], `${some}`)
      for (const table of ['policies', 'key_claims', 'audit_checkpoint', 'audit_trouble'] as const)
        t.strictSame(await store.ledger.read.selectFrom(table).selectAll().execute(), [], table)
    }
  })

  t.test('a file that is not a database is refused as unusable', async t => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'records.db'), 'x'.repeat(10_000))
    await t.rejects(openStore(folder), {
      code: 'store_unavailable',
      message:
        /\.db: the store is damaged \(SQLITE_NOTADB\); stop the coordinator and restore a copy/,
    })
  })

  t.test('a folder that cannot be created is refused with its name', async t => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'file'), '')
    const refused = { code: 'store_unavailable', message: /file\/state/ }
    await t.rejects(openStore(join(folder, 'file', 'state')), refused)
  })

  t.test('the ledger is synced to the disk at every commit, the records are not', async t => {
    const store = await temporaryStore(t)
    const settings = async <T>(database: Database<T>) => [
      await pragma(database, 'synchronous'),
      await pragma(database, 'journal_mode'),
      await pragma(database, 'foreign_keys'),
    ]
    t.strictSame(await settings(store.ledger), [2, 'wal', 1])
    t.strictSame(await settings(store.records), [1, 'wal', 1])
  })
})

t.test('group commit', { skip: notInFiles }, async t => {
  t.test('units of work of one turn share a transaction and see each other in order', async t => {
    const folder = await temporaryFolder(t)
    const store = await temporaryStore(t, folder)
    const other = await temporaryStore(t, folder)
    const seen: number[] = []
    const count = async (trx: Transaction<LedgerTables>) => {
      seen.push((await trx.selectFrom('tenants').select('id').execute()).length)
    }
    const before = other.ledger.foreignCommits()
    const works = [
      store.ledger.sealed.write(trx => addTenant(trx, 'a')),
      store.ledger.sealed.write(count),
      store.ledger.sealed.write(trx => addTenant(trx, 'b')),
      store.ledger.sealed.write(count),
    ]
    t.strictSame(await tenantIds(other), [], 'nothing is visible before the commit')
    await Promise.all(works)
    t.strictSame(seen, [1, 2])
    t.equal(other.ledger.foreignCommits(), before + 1, 'one commit')
  })

  t.test('two stores on one folder take turns without blocking each other', async t => {
    const folder = await temporaryFolder(t)
    const stores = [await temporaryStore(t, folder), await temporaryStore(t, folder)]
    const writes: Promise<string>[] = []
    for (let n = 10; n < 60; n++)
      for (const [side, store] of stores.entries())
        writes.push(store.ledger.sealed.write(trx => addTenant(trx, `${side}-${n}`)))
    await Promise.all(writes)
    t.equal((await tenantIds(await temporaryStore(t, folder))).length, 100)
  })

  t.test('a lock that is never released fails the write, and the next one is tried', async t => {
    const folder = await temporaryFolder(t)
    const holder = await temporaryStore(t, folder)
    let waits = 0
    const store = await temporaryStore(t, folder, { wait: async () => waits++ })
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: taken, resolve: took } = Promise.withResolvers<void>()
    const held = holder.ledger.sealed.write(() => {
      took()
      return released
    })
    await taken
    const refused = store.ledger.sealed.write(trx => addTenant(trx, 'a'))
    await t.rejects(refused, { code: 'store_unavailable', retryAfterSeconds: 5 })
    t.ok(waits > 100)
    release()
    await held
    await store.ledger.sealed.write(trx => addTenant(trx, 'b'))
    t.strictSame(await tenantIds(store), ['b'])
  })

  t.test('a full queue refuses more writes', async t => {
    const store = await temporaryStore(t, undefined, { queueLimit: 2 })
    const writes = ['a', 'b', 'c'].map(id => store.ledger.sealed.write(trx => addTenant(trx, id)))
    const [, , refused = t.fail('not queued')] = writes
    await t.rejects(Promise.resolve(refused), { code: 'store_unavailable' })
    await Promise.all(writes.slice(0, 2))
    t.equal(await store.ledger.sealed.write(trx => addTenant(trx, 'd')), 'd')
    t.strictSame(await tenantIds(store), ['a', 'b', 'd'])
  })
})

t.test(
  'a full disk fails every unit of the batch, and the store recovers',
  { skip: notInFiles },
  async t => {
    const store = await temporaryStore(t)
    await store.ledger.sealed.write(trx => addTenant(trx, 'before'))
    const pages = await pragma(store.ledger, 'page_count')
    await pragma(store.ledger, `max_page_count = ${pages}`)
    const big = 'x'.repeat(100_000)
    const outcomes = await Promise.allSettled([
      store.ledger.sealed.write(trx => addTenant(trx, 'small')),
      store.ledger.sealed.write(trx => addTenant(trx, big)),
      store.ledger.sealed.write(trx => addTenant(trx, 'small too')),
    ])
    for (const outcome of outcomes)
      t.match(outcome, { reason: { code: 'store_unavailable', retryAfterSeconds: 5 } })
    t.strictSame(await tenantIds(store), ['before'], 'reads go on, and nothing is half there')
    await pragma(store.ledger, 'max_page_count = 1000000')
    await store.ledger.sealed.write(trx => addTenant(trx, 'later'))
    t.strictSame(await tenantIds(store), ['before', 'later'])
  },
)

t.test('revisions', { skip: notInFiles }, async t => {
  t.test('a change by another store is reported once, and only for its subject', async t => {
    const folder = await temporaryFolder(t)
    const store = await temporaryStore(t, folder)
    const other = await temporaryStore(t, folder)
    const told: string[] = []
    store.revisions.onChange('keys', () => told.push('keys'))
    const stop = store.revisions.onChange('cells', () => told.push('cells'))
    await store.revisions.poll()
    await other.ledger.sealed.write(trx => bumpRevision(trx, 'keys'))
    await store.revisions.poll()
    await store.revisions.poll()
    t.strictSame(told, ['keys'])
    await other.ledger.sealed.write(trx => bumpRevision(trx, 'cells'))
    await store.revisions.poll()
    t.strictSame(told, ['keys', 'cells'])
    stop()
    await other.ledger.sealed.write(trx => bumpRevision(trx, 'cells'))
    await store.revisions.poll()
    t.strictSame(told, ['keys', 'cells'])
  })

  t.test('a store that cannot be read counts as changed', async t => {
    const store = await openStore(await temporaryFolder(t), { pollMilliseconds: 0 })
    let told = 0
    store.revisions.onChange('keys', () => told++)
    await store.close()
    await store.revisions.poll()
    t.equal(told, 1)
  })

  t.test('everything is told again after a shared store was away', async t => {
    const { ledger } = await plainStore(t, await temporaryFolder(t))
    let isAway = false
    const failing = {
      ...ledger,
      foreignCommits: () => {
        if (isAway) throw new Error('away')
        return Math.random()
      },
    }
    const revisions = watchRevisions(failing, { pollMilliseconds: 0, isShared: true })
    let told = 0
    revisions.onChange('keys', () => told++)
    await ledger.sealed.write(trx => bumpRevision(trx, 'keys'))
    for (const [away, wanted] of [
      [false, 1],
      [false, 1],
      [true, 1],
      [false, 2],
      [false, 2],
    ] as const) {
      isAway = away
      await revisions.poll()
      t.equal(told, wanted)
    }
  })

  t.test('a shared store that is away counts as changed after a minute', async t => {
    const store = await openStore(await temporaryFolder(t), { pollMilliseconds: 0 })
    let now = 0
    let told = 0
    const options = {
      pollMilliseconds: 0,
      isShared: true,
      runtime: { ...systemRuntime, nowMs: () => now },
    }
    const revisions = watchRevisions(store.ledger, options)
    revisions.onChange('keys', () => told++)
    await revisions.poll()
    await store.close()
    for (const [at, wanted] of [
      [59_999, 0],
      [60_000, 1],
    ] as const) {
      now = at
      await revisions.poll()
      t.equal(told, wanted, `after ${at} ms`)
    }
  })
})

t.test('SQLite meets the contract of the store', { skip: notInFiles }, async t => {
  testStoreContract(t, async t => {
    const folder = await temporaryFolder(t)
    return {
      stores: [await plainStore(t, folder), await plainStore(t, folder)],
      conflict: () => new StoreFault('conflict', 'the database is locked', undefined),
    }
  })
})
