import { type SqlBool, sql, type Transaction } from 'kysely'
import { DAY_MS, HOUR_MS } from '../../../shared/time.ts'
import type { Records } from '../../kernel/store/store.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'

/** The hour a row is of, in SQL. */
export const hourOfRow = sql<number>`at - at % ${sql.lit(HOUR_MS)}`

/** Tables of sums; each has every row once, and is written in the same transactions as the others. */
export const SUM_TABLES = [
  { table: 'usage_buckets', time: 'hour_at', spanMs: HOUR_MS },
  { table: 'usage_days', time: 'day_at', spanMs: DAY_MS },
] as const

const atMost = (ms: number) => sql<number>`case when ttft_ms <= ${sql.lit(ms)} then 1 else 0 end`

/** Increments of a row to its bucket, in SQL. */
export const ROW_SUMS = {
  ok: sql<number>`case when status = 'ok' then 1 else 0 end`,
  cancelled: sql<number>`case when status = 'cancelled' then 1 else 0 end`,
  failed: sql<number>`case when status = 'failed' then 1 else 0 end`,
  prompt_tokens: sql<number>`coalesce(prompt_tokens, 0)`,
  cached_tokens: sql<number>`coalesce(cached_tokens, 0)`,
  completion_tokens: sql<number>`coalesce(completion_tokens, 0)`,
  duration_ms: sql<number>`duration_ms`,
  // embeddings and failed requests have a duration, and generate nothing
  generation_ms: sql<number>`case when completion_tokens > 0 then duration_ms else 0 end`,
  // requests that were refused leave no row; see `refusals.ts`
  refused: sql<number>`0`,
  unavailable: sql<number>`0`,
  retries: sql<number>`coalesce(retries, 0)`,
  ttft_count: sql<number>`case when ttft_ms is null then 0 else 1 end`,
  ttft_ms: sql<number>`coalesce(ttft_ms, 0)`,
  ttft_le_100: atMost(100),
  ttft_le_250: atMost(250),
  ttft_le_500: atMost(500),
  ttft_le_1000: atMost(1000),
  ttft_le_2500: atMost(2500),
  ttft_le_5000: atMost(5000),
  ttft_le_10000: atMost(10_000),
  ttft_le_30000: atMost(30_000),
} as const
export type UsageSum = keyof typeof ROW_SUMS
export const USAGE_SUMS = Object.keys(ROW_SUMS) as UsageSum[]

/**
 * Adds rows that began before an instant to the buckets of their hours, at most so many, and marks
 * them in the same transaction: every row is added once, whatever is killed when and however late
 * it was written. Answers false when none is left. Sealed, because rows must not arrive between
 * the sum and the mark.
 */
export const sealRows = (
  { sealed }: Pick<Records, 'sealed'>,
  before: number,
  atMost: number,
): Promise<boolean> =>
  sealed.write(async trx => {
    const open = trx.selectFrom('usage').where('sealed', '=', 0).where('at', '<', before)
    const last = await open
      .select(['at', 'id'])
      .orderBy('at')
      .orderBy('id')
      .offset(atMost - 1)
      .limit(1)
      .executeTakeFirst()
    const range =
      last === undefined
        ? sql<SqlBool>`sealed = 0 and at < ${before}`
        : sql<SqlBool>`sealed = 0 and (at, id) <= (${last.at}, ${last.id})`
    for (const sums of SUM_TABLES) await addToSums(trx, sums, range)
    await trx.updateTable('usage').set({ sealed: 1 }).where(range).execute()
    return last !== undefined
  })

type Range = ReturnType<typeof sql<SqlBool>>

const addToSums = async (
  trx: Transaction<RecordTables>,
  { table, time, spanMs }: (typeof SUM_TABLES)[number],
  range: Range,
): Promise<void> => {
  const sums = sql.join(USAGE_SUMS.map(name => sql.ref(name)))
  const added = sql.join(USAGE_SUMS.map(name => sql`cast(sum(${ROW_SUMS[name]}) as bigint)`))
  const grown = sql.join(
    USAGE_SUMS.map(
      name => sql`${sql.ref(name)} = ${sql.ref(`${table}.${name}`)} + excluded.${sql.ref(name)}`,
    ),
  )
  await sql`
    insert into ${sql.table(table)} (${sql.ref(time)}, key_id, tenant_id, model, ${sums})
    select at - at % ${sql.lit(spanMs)}, key_id, tenant_id, model, ${added} from usage where ${range}
    group by 1, 2, 3, 4
    on conflict (${sql.ref(time)}, key_id, tenant_id, model) do update set ${grown}`.execute(trx)
}

/** Sums up the hours of a day that has no sum. */
export const addDay = async (trx: Transaction<RecordTables>, dayAt: number): Promise<void> => {
  const sums = sql.join(USAGE_SUMS.map(name => sql.ref(name)))
  const added = sql.join(USAGE_SUMS.map(name => sql`cast(sum(${sql.ref(name)}) as bigint)`))
  await sql`
    insert into usage_days (day_at, key_id, tenant_id, model, ${sums})
    select cast(${dayAt} as bigint), key_id, tenant_id, model, ${added} from usage_buckets
    where hour_at >= ${dayAt} and hour_at < ${dayAt + DAY_MS} group by 2, 3, 4`.execute(trx)
}

/** Forgets sealed rows from before an instant, at most so many; false when none is left. */
export const forgetRows = (
  { free }: Pick<Records, 'free'>,
  before: number,
  atMost: number,
): Promise<boolean> =>
  free.write(async trx => {
    const old = trx
      .selectFrom('usage')
      .select('id')
      .where('sealed', '=', 1)
      .where('at', '<', before)
      .limit(atMost)
    const { numDeletedRows } = await trx
      .deleteFrom('usage')
      .where('id', 'in', old)
      .executeTakeFirst()
    return numDeletedRows === BigInt(atMost)
  })

/** Forgets the checksums of hours before an instant, whose rows are about to be forgotten. */
export const forgetChecksums = async (
  { free }: Pick<Records, 'free'>,
  before: number,
): Promise<void> => {
  await free.write(trx =>
    trx
      .updateTable('usage_hours')
      .set({ checksum: null })
      .where('hour_at', '<', before)
      .where('checksum', 'is not', null)
      .execute(),
  )
}

/** Forgets sums, totals and calls of the days that ended before an instant. */
export const forgetBuckets = async (
  { free }: Pick<Records, 'free'>,
  until: number,
): Promise<void> => {
  // a day goes as a whole, or its sum would have more than its hours
  const before = until - (until % DAY_MS)
  await free.write(async trx => {
    await trx.deleteFrom('usage_days').where('day_at', '<', before).execute()
    await trx.deleteFrom('usage_buckets').where('hour_at', '<', before).execute()
    await trx.deleteFrom('usage_hours').where('hour_at', '<', before).execute()
    await trx.deleteFrom('call_hours').where('hour_at', '<', before).execute()
  })
}
