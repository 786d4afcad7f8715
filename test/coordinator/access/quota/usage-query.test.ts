import fc from 'fast-check'
import t from 'tap'
import { Refusals } from '../../../../coordinator/access/quota/refusals.ts'
import { createUsage, type NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import { sealRows } from '../../../../coordinator/access/quota/usage-buckets.ts'
import { createUsageKeeper } from '../../../../coordinator/access/quota/usage-keeper.ts'
import {
  queryUsage,
  type UsageGroup,
  type UsageQuestion,
} from '../../../../coordinator/access/quota/usage-query.ts'
import { recordMigrations } from '../../../../coordinator/kernel/store/record-migrations.ts'
import { sqliteEngine } from '../../../../coordinator/kernel/store/sqlite/sqlite-engine.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import type { RecordTables } from '../../../../coordinator/kernel/store/tables.ts'
import { newId } from '../../../../shared/ids.ts'
import { HOUR_MS } from '../../../../shared/time.ts'
import { randomOf } from '../../../support/random.ts'
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

t.test('usage is summed over months, in any grouping and by pages of any size', async t => {
  const store = await temporaryStore(t)
  const usage = createUsage(store)
  const { pick, randomBelow } = randomOf(7)
  const rows = Array.from({ length: 400 }, (): NewUsage => {
    const at = NOON - randomBelow(70 * DAY_MS)
    return row({ at, key_id: pick(['a', 'b']), model: pick(['m1', 'm2', 'm3']) })
  })
  const written = rows.map(each => ({ ...each, id: newId('use', each.at) }))
  await usage.recordRows(written.slice(0, 390))
  await sealRows(store.records, NOON, 1000)
  await usage.recordRows(written.slice(390))
  await sealRows(store.records, NOON, 4)
  const groups = fc.subarray(['hour', 'day', 'key', 'tenant', 'model'] as const)
  const shuffled = groups.chain(found => fc.shuffledSubarray(found, { minLength: found.length }))
  const hour = fc.integer({ min: -75 * 24, max: 1 }).map(hours => NOON + hours * HOUR_MS)
  await fc.assert(
    fc.asyncProperty(
      shuffled.filter(found => found.length > 0),
      fc.tuple(hour, hour).map(ends => ends.toSorted((a, b) => a - b) as [number, number]),
      fc.integer({ min: 7, max: 90 }),
      async (groupBy, [from, to], limit) => {
        const lines = []
        for (let after: (string | number)[] | undefined; ; ) {
          const question = { from, to, groupBy, limit, ...(after && { after }) }
          const page = await queryUsage({ scan: store.records.read }, question)
          lines.push(...page.map(line => [...groupBy.map(name => line[name]), line.ok].join(' ')))
          if (page.length < limit) break
          after = groupBy.map(name => page.at(-1)?.[name] as string | number)
        }
        t.strictSame(lines, countRows(rows, groupBy, [from, to]))
      },
    ),
    { numRuns: 25 },
  )
})

/** Requests by groups, in the order of the groups. */
const countRows = (
  rows: readonly NewUsage[],
  groupBy: readonly UsageGroup[],
  [from, to]: [number, number],
): string[] => {
  const readers = {
    hour: ({ at }: NewUsage) => at - (at % HOUR_MS),
    day: ({ at }: NewUsage) => at - (at % DAY_MS),
    key: ({ key_id }: NewUsage) => key_id,
    tenant: ({ tenant_id }: NewUsage) => tenant_id,
    model: ({ model }: NewUsage) => model,
  }
  const found = rows.filter(({ at }) => at >= from && at < to)
  const groups = Map.groupBy(found, each => groupBy.map(name => readers[name](each)).join(' '))
  // times of one length, and names, sort as their texts do
  return [...groups].map(([name, all]) => `${name} ${all.length}`).sort()
}

t.test('days have the sums of their hours, and are forgotten as a whole', async t => {
  const store = await temporaryStore(t)
  const usage = createUsage(store)
  const refusals = new Refusals(store.records)
  const day = NOON - 12 * HOUR_MS
  for (const at of [day - 3 * HOUR_MS, day - 2 * HOUR_MS, day + HOUR_MS]) {
    await usage.record(row({ at }))
    const refused = { at, keyId: 'k1', tenantId: 'one', model: 'm1', isUnavailable: false }
    refusals.count(refused)
  }
  await refusals.flush()
  await keeperOf(store).tidy()
  const whole = { from: day - 30 * DAY_MS, to: day + DAY_MS, groupBy: ['day'] as const, limit: 9 }
  const edges = { ...whole, from: day - 3 * HOUR_MS, to: day + 2 * HOUR_MS }
  const lines = [
    { day: day - DAY_MS, ok: 2, refused: 2, prompt_tokens: 6 },
    { day, ok: 1, refused: 1, prompt_tokens: 3 },
  ]
  t.match(await queryUsage(store.records, whole), lines)
  t.match(await queryUsage(store.records, edges), lines)

  // an hour before the end of the first day is beyond the retention: the day stays
  await keeperOf(store, day - HOUR_MS + 2 * DAY_MS, 2, 2).tidy()
  t.match(await queryUsage(store.records, whole), lines)
  await keeperOf(store, day + 2 * DAY_MS, 2, 2).tidy()
  t.match(await queryUsage(store.records, whole), lines.slice(1))
  const hours = store.records.read.selectFrom('usage_buckets').select('hour_at').execute()
  t.equal((await hours).length, 1)
})

t.test('buckets from before the sums of days are in them', { skip: notInFiles }, async t => {
  const folder = await temporaryFolder(t)
  const old = await sqliteEngine(folder).open<RecordTables>({
    name: 'records',
    survives: 'process_end',
    migrations: Object.fromEntries(
      Object.entries(recordMigrations).filter(([name]) => name < '0013'),
    ),
  })
  const sums = { ok: 1, cancelled: 0, failed: 0, prompt_tokens: 2, cached_tokens: 0 }
  const owner = { key_id: 'k1', tenant_id: 'one', model: 'm1' }
  const values = [1, 2, 30].map(hours => ({
    ...{ hour_at: NOON - hours * HOUR_MS, ...owner, ...sums, completion_tokens: 0, duration_ms: 1 },
  }))
  await old.free.write(trx => trx.insertInto('usage_buckets').values(values).execute())
  await old.close()
  const store = await temporaryStore(t, folder)
  t.match(await queryUsage(store.records, { ...EVER, groupBy: ['day'] }), [{ ok: 1 }, { ok: 2 }])
})
