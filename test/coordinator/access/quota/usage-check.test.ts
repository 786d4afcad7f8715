import { existsSync } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import t, { type Test } from 'tap'
import { acceptUsage, verifyUsage } from '../../../../coordinator/access/quota/accept-usage.ts'
import { createUsage, type NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import {
  findMissingUsage,
  listChangedUsage,
} from '../../../../coordinator/access/quota/usage-check.ts'
import { journalUsage } from '../../../../coordinator/access/quota/usage-journal.ts'
import { createUsageKeeper } from '../../../../coordinator/access/quota/usage-keeper.ts'
import { describeLosses } from '../../../../coordinator/access/quota/usage-losses.ts'
import { UsageWatch } from '../../../../coordinator/access/quota/usage-watch.ts'
import { openStore, type Store } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { HOUR_MS } from '../../../../shared/time.ts'
import { silent } from '../../../support/cell.ts'
import {
  BY,
  notInFiles,
  temporaryFolder,
  temporaryStore,
  testStore,
} from '../../kernel/store/temporary.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const DAY_MS = 24 * HOUR_MS

const row = (other: Partial<NewUsage> = {}): NewUsage => ({
  at: NOON,
  key_id: 'k1',
  tenant_id: 'one',
  model: 'm1',
  cell_id: 'c',
  route: '/v1/chat/completions',
  status: 'ok',
  prompt_tokens: 3,
  completion_tokens: 5,
  cached_tokens: 2,
  duration_ms: 20,
  request_id: 'r',
  ...other,
})

/** Records requests through the journal, as a coordinator does. */
const recordMany = async (t: Test, store: Store, count: number, at = NOON): Promise<void> => {
  const stateDir = await temporaryFolder(t)
  const usage = await journalUsage(createUsage(store), {
    stateDir,
    logger: silent,
    runtime: systemRuntime,
  })
  await Promise.all(Array.from({ length: count }, () => usage.record(row({ at }))))
  await usage.close()
}

const sealAt = (store: Store, at: number) =>
  createUsageKeeper({
    ...store,
    retention: { row_days: 35, bucket_days: 400 },
    now: () => at,
  }).tidy()

const lossesOf = async (store: Store) => {
  const watch = await UsageWatch.open({ store, logger: silent })
  await watch.settle()
  return watch.losses()
}

const readHours = ({ read }: Store['records']) =>
  read.selectFrom('usage_hours').selectAll().execute()

/** The same reads, with something else done once so many of them have been answered. */
const afterReads = <T>(read: Kysely<T>, count: number, run: () => Promise<void>): Kysely<T> => {
  let answered = 0
  return read.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (++answered === count) await run()
      return result
    },
  })
}

const lossOf = (requests: number, found: number) => ({
  hourAt: NOON,
  expected: { requests, tokens: requests * 8 },
  found: { requests: found, tokens: found * 8 },
})

t.test('usage that is missing', async t => {
  const files = { skip: notInFiles }

  t.test('is noticed when the records were deleted', files, async t => {
    const folder = await temporaryFolder(t)
    const store = await testStore(folder)
    await recordMany(t, store, 1299)
    await store.close()
    for (const end of ['', '-wal', '-shm'])
      await rm(join(folder, `records.db${end}`), { force: true })
    const path = join(folder, 'records.db')
    await t.rejects(openStore(folder, { mustExist: true }), {
      code: 'not_found',
      message: /^records\.db is missing in .*restore a copy/,
    })
    t.notOk(existsSync(path), 'a command does not create it')
    const warned: object[] = []
    const logger = { info: () => {}, warn: (fields: object) => void warned.push(fields) }
    await (await openStore(folder, { logger, pollMilliseconds: 0 })).close()
    t.strictSame(warned, [{ file: path }], 'a start logs that it is created')
    const next = await temporaryStore(t, folder)
    t.strictSame(await lossesOf(next), [lossOf(1299, 0)])
    await recordMany(t, next, 9)
    t.strictSame(await lossesOf(next), [lossOf(1308, 9)], 'and still when more was recorded')
  })

  t.test('is noticed when the records were set back', files, async t => {
    const folder = await temporaryFolder(t)
    const path = join(folder, 'records.db')
    const store = await testStore(folder)
    await recordMany(t, store, 1290)
    await store.close()
    const more = await testStore(folder)
    await copyFile(path, `${path}.copy`)
    await recordMany(t, more, 9)
    await more.close()
    await copyFile(`${path}.copy`, path)
    t.strictSame(await lossesOf(await temporaryStore(t, folder)), [lossOf(1299, 1290)])
  })

  t.test('is noticed when rows or sums were changed, whatever the ledger expects', async t => {
    const store = await temporaryStore(t)
    await recordMany(t, store, 3)
    t.strictSame(await lossesOf(store), [])
    const { records } = store
    const [first] = await records.read.selectFrom('usage').select('id').execute()
    const change = (key_id: string) =>
      records.free.write(trx =>
        trx
          .updateTable('usage')
          .set({ key_id })
          .where('id', '=', first?.id ?? '')
          .execute(),
      )
    await change('k2')
    t.strictSame(await lossesOf(store), [lossOf(3, 3)], 'a row that belongs to another key')
    await change('k1')
    t.strictSame(await lossesOf(store), [])
    await sealAt(store, NOON + DAY_MS)
    await records.free.write(trx => trx.updateTable('usage_buckets').set({ ok: 1 }).execute())
    t.match(await lossesOf(store), [{ found: { requests: 1, tokens: 24 } }], 'a sum')
  })

  t.test('is expected no longer once it was accepted', async t => {
    const store = await temporaryStore(t)
    await recordMany(t, store, 5)
    await store.records.free.write(async trx => {
      await trx.deleteFrom('usage').execute()
      await trx.deleteFrom('usage_hours').execute()
    })
    await recordMany(t, store, 2)
    const { losses, ...compared } = await verifyUsage(store)
    t.strictSame(compared, { hours: 1, requests: 2 })
    t.equal(
      describeLosses(losses),
      'usage is missing or was changed in one hour: 2026-11-20T12Z has 2 of 7 requests and 16 of 56 tokens',
    )
    const accepted = await acceptUsage(store, 'the disk failed', BY)
    t.strictSame(accepted, { hours: 1, days: 0, requests_missing: 5, tokens_missing: 40 })
    t.strictSame(await lossesOf(store), [])
    await t.rejects(acceptUsage(store, 'again', BY), { code: 'conflict' })
    const entry = await store.ledger.read.selectFrom('audit').select('action').execute()
    t.strictSame(entry, [{ action: 'usage.accept' }])
  })
})

t.test('a day whose sum differs from its hours is found, and restored from them', async t => {
  const store = await temporaryStore(t)
  await recordMany(t, store, 3)
  await recordMany(t, store, 2, NOON + HOUR_MS)
  await sealAt(store, NOON + DAY_MS)
  t.strictSame(await lossesOf(store), [])
  const readDays = () => store.records.read.selectFrom('usage_days').selectAll().execute()
  const before = await readDays()
  for (const ok of [4, 6]) {
    await store.records.free.write(trx => trx.updateTable('usage_days').set({ ok }).execute())
    const { losses } = await verifyUsage(store)
    t.match(losses, [{ isDay: true, expected: { requests: 5 }, found: { requests: ok } }])
    t.match(describeLosses(losses), `in one day: the sum of 2026-11-20 has ${ok} of 5 requests`)
    t.match(await lossesOf(store), [{ isDay: true }])
    const accepted = await acceptUsage(store, 'changed by hand', BY)
    t.strictSame(accepted, { hours: 0, days: 1, requests_missing: 0, tokens_missing: 0 })
    t.strictSame(await readDays(), before)
  }
  await store.records.free.write(trx => trx.updateTable('usage_buckets').set({ ok: 1 }).execute())
  t.notOk(
    (await lossesOf(store)).some(({ isDay }) => isDay),
    'the hours are at fault',
  )
  await acceptUsage(store, 'changed by hand', BY)
  t.strictSame(await lossesOf(store), [])
  t.match(await readDays(), [{ ok: 2 }], 'a day follows its hours')
})

t.test('usage is not missing', async t => {
  t.test('when it was purged', async t => {
    const store = await temporaryStore(t)
    await recordMany(t, store, 300)
    await recordMany(t, store, 3, NOON + DAY_MS)
    await sealAt(store, NOON + 2 * DAY_MS)
    t.strictSame(await lossesOf(store), [])
    await sealAt(store, NOON + 36 * DAY_MS + HOUR_MS)
    t.strictSame(await store.records.read.selectFrom('usage').selectAll().execute(), [])
    t.strictSame(await lossesOf(store), [], 'after the rows are gone')
    await sealAt(store, NOON + 402 * DAY_MS)
    t.strictSame(await store.ledger.read.selectFrom('usage_anchors').selectAll().execute(), [])
    t.strictSame(await lossesOf(store), [], 'after the sums are gone')
  })

  t.test('when its hour is sealed while the rows are compared', async t => {
    const store = await temporaryStore(t)
    await recordMany(t, store, 3)
    const read = afterReads(store.records.read, 2, () => sealAt(store, NOON + DAY_MS))
    t.strictSame(await listChangedUsage({ read }), [])
    const rows = await store.records.read.selectFrom('usage').select('sealed').execute()
    t.strictSame(rows, [{ sealed: 1 }, { sealed: 1 }, { sealed: 1 }], 'they were sealed meanwhile')
  })

  t.test('when its hour is forgotten while anchors are compared', async t => {
    const store = await temporaryStore(t)
    await recordMany(t, store, 3)
    const { ledger, records } = store
    const read = afterReads(ledger.read, 1, () => sealAt(store, NOON + 402 * DAY_MS))
    t.strictSame(await findMissingUsage({ ledger: { ...ledger, read }, records }), [])
    t.strictSame(await readHours(records), [], 'it was forgotten meanwhile')
  })

  t.test('when a coordinator of an older version records rows beside', async t => {
    const store = await temporaryStore(t)
    await recordMany(t, store, 20)
    const older = Array.from({ length: 10 }, (_, n) => ({ id: `use_${n}`, ...row() }))
    await store.records.sealed.write(trx => trx.insertInto('usage').values(older).execute())
    t.strictSame(await lossesOf(store), [], 'as rows')
    await sealAt(store, NOON + DAY_MS)
    t.strictSame(await lossesOf(store), [], 'as sums')
    await store.records.free.write(trx => trx.deleteFrom('usage').where('id', '>', '').execute())
    t.strictSame(await lossesOf(store), [lossOf(20, 0)], 'what is missing is still noticed')
  })

  t.test('when it arrives twice after a crash', async t => {
    const store = await temporaryStore(t)
    const rows = Array.from({ length: 5 }, (_, n) => ({ id: `use_${n}`, ...row() }))
    const usage = createUsage(store)
    await usage.recordRows(rows.slice(0, 3))
    const next = createUsage(store)
    await next.recordRows(rows)
    await next.anchor()
    t.strictSame(await lossesOf(store), [])
    t.match(await readHours(store.records), [{ requests: 5 }])
  })
})
