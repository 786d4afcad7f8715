import { type SqlBool, sql, type Transaction } from 'kysely'
import type { RecordTables } from '../store/record-tables.ts'
import type { Records } from '../store/store.ts'

export const HOUR_MS = 3_600_000

/** The hour a row is of, in SQL. */
export const hourOfRow = sql<number>`at - at % ${sql.lit(HOUR_MS)}`

/** Increments of a row to its bucket, in SQL. */
export const ROW_SUMS = {
  ok: sql<number>`case when status = 'ok' then 1 else 0 end`,
  cancelled: sql<number>`case when status = 'cancelled' then 1 else 0 end`,
  failed: sql<number>`case when status = 'failed' then 1 else 0 end`,
  prompt_tokens: sql<number>`coalesce(prompt_tokens, 0)`,
  cached_tokens: sql<number>`coalesce(cached_tokens, 0)`,
  completion_tokens: sql<number>`coalesce(completion_tokens, 0)`,
  duration_ms: sql<number>`duration_ms`,
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
    await addToBuckets(trx, range)
    await trx.updateTable('usage').set({ sealed: 1 }).where(range).execute()
    return last !== undefined
  })

type Range = ReturnType<typeof sql<SqlBool>>

const addToBuckets = async (trx: Transaction<RecordTables>, range: Range): Promise<void> => {
  const sums = sql.join(USAGE_SUMS.map(name => sql.ref(name)))
  const added = sql.join(USAGE_SUMS.map(name => sql`cast(sum(${ROW_SUMS[name]}) as bigint)`))
  const grown = sql.join(
    USAGE_SUMS.map(
      name => sql`${sql.ref(name)} = usage_buckets.${sql.ref(name)} + excluded.${sql.ref(name)}`,
    ),
  )
  await sql`
    insert into usage_buckets (hour_at, key_id, tenant_id, model, ${sums})
    select ${hourOfRow}, key_id, tenant_id, model, ${added} from usage where ${range}
    group by 1, 2, 3, 4
    on conflict (hour_at, key_id, tenant_id, model) do update set ${grown}`.execute(trx)
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

/** Forgets buckets and totals of hours before an instant. */
export const forgetBuckets = async (
  { free }: Pick<Records, 'free'>,
  before: number,
): Promise<void> => {
  await free.write(async trx => {
    await trx.deleteFrom('usage_buckets').where('hour_at', '<', before).execute()
    await trx.deleteFrom('usage_hours').where('hour_at', '<', before).execute()
  })
}
