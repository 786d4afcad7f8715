import fc from 'fast-check'
import t from 'tap'
import { createUsage, type NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import { sealRows } from '../../../../coordinator/access/quota/usage-buckets.ts'
import { createUsageKeeper } from '../../../../coordinator/access/quota/usage-keeper.ts'
import { queryUsage, type UsageQuestion } from '../../../../coordinator/access/quota/usage-query.ts'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import { recordMigrations } from '../../../../coordinator/kernel/store/record-migrations.ts'
import { sqliteEngine } from '../../../../coordinator/kernel/store/sqlite/sqlite-engine.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import type { RecordTables } from '../../../../coordinator/kernel/store/tables.ts'
import { HOUR_MS } from '../../../../shared/time.ts'
import { notInFiles, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const DAY_MS = 24 * HOUR_MS

const row = (other: Partial<NewUsage> = {}): NewUsage => ({
  at: NOON - HOUR_MS,
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

const EVER: UsageQuestion = { from: 0, to: 1e14, groupBy: [], limit: 1000 }

const keeperOf = (store: Store, at = NOON, rowDays = 35, bucketDays = 400) =>
  createUsageKeeper({
    records: store.records,
    ledger: store.ledger,
    retention: { row_days: rowDays, bucket_days: bucketDays },
    now: () => at,
  })

const buckets = ({ records }: Store) =>
  records.read.selectFrom('usage_buckets').selectAll().orderBy('hour_at').execute()

const openRows = async ({ records }: Store): Promise<number> => {
  const query = records.read.selectFrom('usage').where('sealed', '=', 0)
  return (await query.select('id').execute()).length
}

t.test('a completed hour', async t => {
  t.test('is sealed by key, tenant and model; the current one is not', async t => {
    const store = await temporaryStore(t)
    const usage = createUsage(store)
    for (const other of [
      {},
      { status: 'failed', prompt_tokens: null, completion_tokens: null, cached_tokens: null },
      { status: 'cancelled', at: NOON - 1 },
      { model: 'm2' },
      { at: NOON - HOUR_MS - 1 },
      { at: NOON },
    ] as const)
      await usage.record(row(other))
    await keeperOf(store).tidy()
    const same = { key_id: 'k1', tenant_id: 'one', model: 'm1', hour_at: NOON - HOUR_MS }
    const once = { ok: 1, cancelled: 0, failed: 0 }
    const tokens = { prompt_tokens: 3, cached_tokens: 2, completion_tokens: 5, duration_ms: 20 }
    const found = await buckets(store)
    t.equal(found.length, 3)
    t.match(found[0], { ...same, ...once, ...tokens, hour_at: NOON - 2 * HOUR_MS })
    t.match(
      found.find(each => each.model === 'm2'),
      { ...same, ...once, ...tokens, model: 'm2' },
    )
    t.match(
      found.find(each => each.model === 'm1' && each.hour_at === NOON - HOUR_MS),
      {
        ...same,
        ok: 1,
        cancelled: 1,
        failed: 1,
        prompt_tokens: 6,
        cached_tokens: 4,
        completion_tokens: 10,
        duration_ms: 60,
        // without the one that failed
        generation_ms: 40,
      },
    )
    t.equal(await openRows(store), 1)
  })

  t.test('sums times to first token, with their distribution, and retries', async t => {
    const store = await temporaryStore(t)
    const usage = createUsage(store)
    for (const other of [
      { ttft_ms: 100, retries: 1 },
      { ttft_ms: 101, retries: 2 },
      { ttft_ms: null, retries: 0 },
      {},
    ])
      await usage.record(row(other))
    const sums = {
      ttft_count: 2,
      ttft_ms: 201,
      ttft_le_100: 1,
      ttft_le_250: 2,
      ttft_le_30000: 2,
      retries: 3,
    }
    t.match(await queryUsage(store.records, EVER), [sums])
    await keeperOf(store).tidy()
    t.match(await buckets(store), [sums])
    t.match(await queryUsage(store.records, EVER), [sums])
  })

  t.test('counts each row once, however often it is sealed or late a row arrives', async t => {
    const store = await temporaryStore(t)
    const usage = createUsage(store)
    await usage.record(row())
    await keeperOf(store).tidy()
    await keeperOf(store).tidy()
    t.match(await buckets(store), [{ ok: 1 }])
    await usage.record(row())
    t.match(await queryUsage(store.records, EVER), [{ ok: 2 }])
    await keeperOf(store).tidy()
    t.match(await buckets(store), [{ ok: 2, prompt_tokens: 6 }])
    t.match(await queryUsage(store.records, EVER), [{ ok: 2 }])
  })

  t.test('is left unchanged when the transaction is lost', async t => {
    const store = await temporaryStore(t)
    await createUsage(store).record(row())
    const records = withChangeHook(store.records, (work, commit) =>
      commit(async trx => {
        await work(trx)
        throw new RangeError('lost')
      }),
    )
    await t.rejects(sealRows(records, NOON, 10), { message: 'lost' })
    t.strictSame(await buckets(store), [])
    t.equal(await openRows(store), 1)
  })

  t.test('is sealed once when several processes try', async t => {
    const folder = await temporaryFolder(t)
    const stores = [await temporaryStore(t, folder), await temporaryStore(t, folder)]
    const usage = createUsage(stores[0] as Store)
    await Promise.all(Array.from({ length: 1200 }, () => usage.record(row())))
    await Promise.all(stores.map(store => keeperOf(store).tidy()))
    t.match(await buckets(stores[0] as Store), [{ ok: 1200, duration_ms: 24_000 }])
  })

  t.test('is sealed in small steps', async t => {
    const store = await temporaryStore(t)
    const usage = createUsage(store)
    await Promise.all(Array.from({ length: 25 }, () => usage.record(row())))
    t.equal(await sealRows(store.records, NOON, 10), true)
    t.equal(await openRows(store), 15)
    t.equal(await sealRows(store.records, NOON, 10), true)
    t.equal(await sealRows(store.records, NOON, 10), false)
    t.match(await buckets(store), [{ ok: 25 }])
  })
})

t.test('old rows are deleted first, and their sums later', async t => {
  const store = await temporaryStore(t)
  const usage = createUsage(store)
  for (const days of [1, 5, 9]) await usage.record(row({ at: NOON - days * DAY_MS }))
  await keeperOf(store, NOON, 3, 7).tidy()
  const rows = await store.records.read.selectFrom('usage').select('at').execute()
  t.strictSame(rows, [{ at: NOON - DAY_MS }])
  t.strictSame(
    (await buckets(store)).map(each => each.hour_at),
    [NOON - 5 * DAY_MS, NOON - DAY_MS],
  )
  t.match(await queryUsage(store.records, EVER), [{ ok: 2 }])
})

/** Reads without a thread, which takes longer to start than a small store to read. */
const inProcess = ({ records }: Store) => ({ scan: records.read })

t.test('usage is summed', async t => {
  t.test('in the order of the groups, page by page', async t => {
    const store = await temporaryStore(t)
    const usage = createUsage(store)
    for (const model of ['m2', 'm1'])
      for (const hours of [1, 2, 30])
        for (const key_id of ['b', 'a']) {
          await usage.record(row({ model, key_id, at: NOON - hours * HOUR_MS }))
          if (hours === 2) await keeperOf(store).tidy()
        }
    const groupBy = ['day', 'model'] as const
    const today = NOON - 12 * HOUR_MS
    const lines = await queryUsage(store.records, { ...EVER, groupBy })
    t.match(lines, [
      { day: today - DAY_MS, model: 'm1', ok: 2 },
      { day: today - DAY_MS, model: 'm2', ok: 2 },
      { day: today, model: 'm1', ok: 4 },
      { day: today, model: 'm2', ok: 4 },
    ])
    const first = await queryUsage(store.records, { ...EVER, groupBy, limit: 3 })
    const after = [today, 'm1']
    const rest = await queryUsage(store.records, { ...EVER, groupBy, limit: 3, after })
    t.strictSame([...first, ...rest], lines)
    t.match(await queryUsage(store.records, { ...EVER, groupBy: ['key'], keyId: 'a' }), [
      { key: 'a', ok: 6 },
    ])
    t.strictSame(await queryUsage(store.records, { ...EVER, tenantId: 'two' }), [])
  })

  t.test('with the same result whatever is sealed already', async t => {
    const any = fc.record({
      at: fc.integer({ min: NOON - 3 * HOUR_MS, max: NOON - 1 }),
      key_id: fc.constantFrom('a', 'b'),
      status: fc.constantFrom('ok' as const, 'failed' as const, 'cancelled' as const),
      prompt_tokens: fc.option(fc.nat(1000), { nil: null }),
    })
    const step = fc.oneof(any, fc.integer({ min: 1, max: 4 }))
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async steps => {
        const store = await temporaryStore(t)
        const usage = createUsage(store)
        let requests = 0
        let promptTokens = 0
        for (const each of steps) {
          if (typeof each === 'number') await sealRows(store.records, NOON, each)
          else {
            await usage.record(row(each))
            requests++
            promptTokens += each.prompt_tokens ?? 0
          }
        }
        const found = await queryUsage(inProcess(store), { ...EVER, groupBy: ['hour', 'key'] })
        const sum = (pick: (line: (typeof found)[0]) => number) =>
          found.reduce((total, line) => total + pick(line), 0)
        t.equal(
          sum(line => line.ok + line.failed + line.cancelled),
          requests,
        )
        t.equal(
          sum(line => line.prompt_tokens),
          promptTokens,
        )
      }),
      { numRuns: 20 },
    )
  })
})

t.test(
  'rows from before the introduction of buckets are sealed as well',
  { skip: notInFiles },
  async t => {
    const folder = await temporaryFolder(t)
    const first = ['0001_usage', '0002_series', '0003_usage_status']
    const old = await sqliteEngine(folder).open<RecordTables>({
      name: 'records',
      survives: 'process_end',
      migrations: Object.fromEntries(
        Object.entries(recordMigrations).filter(([name]) => first.includes(name)),
      ),
    })
    const { cached_tokens: _, ...before } = row()
    await old.free.write(trx =>
      trx
        .insertInto('usage')
        .values({ ...before, id: 'x' } as never)
        .execute(),
    )
    await old.close()
    const store = await temporaryStore(t, folder)
    t.match(await queryUsage(store.records, EVER), [{ ok: 1, cached_tokens: 0 }])
    await keeperOf(store).tidy()
    t.match(await buckets(store), [{ ok: 1, prompt_tokens: 3, cached_tokens: 0 }])
  },
)
