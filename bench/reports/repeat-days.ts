import { sql } from 'kysely'
import { USAGE_SUMS } from '../../coordinator/access/quota/usage-buckets.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import { DAY_MS } from '../../shared/time.ts'

const KEYS = ['key_id', 'tenant_id', 'model']
const ROW = ['request_id', ...KEYS, 'cell_id', 'route', 'status', 'prompt_tokens']
ROW.push('completion_tokens', 'cached_tokens', 'duration_ms', 'ttft_ms', 'retries', 'sealed')

/** Tables of the records with a time, and the columns that a copy of a row keeps. */
const COPIED = [
  { table: 'usage', time: 'at', columns: ROW },
  { table: 'usage_buckets', time: 'hour_at', columns: [...KEYS, ...USAGE_SUMS] },
  { table: 'usage_days', time: 'day_at', columns: [...KEYS, ...USAGE_SUMS] },
  // without the checksum, which has the times of the rows in it
  { table: 'usage_hours', time: 'hour_at', columns: ['requests', 'tokens'] },
  {
    table: 'call_hours',
    time: 'hour_at',
    columns: ['tenant_id', 'operation_id', 'calls', 'errors', 'duration_ms'],
  },
] as const

/** Copies the rows of the first span until the end, day by day, each time a span later. */
export const repeatDays = async (
  store: Store,
  { from, spanMs, end }: { from: number; spanMs: number; end: number },
): Promise<void> => {
  for (let shift = spanMs; from + shift < end; shift += spanMs)
    for (let day = from; day < from + spanMs && day + shift < end; day += DAY_MS)
      await copyDay(store, day, shift)
}

const copyDay = async ({ ledger, records }: Store, from: number, shift: number): Promise<void> => {
  const until = from + DAY_MS
  await records.sealed.write(async trx => {
    for (const { table, time, columns } of COPIED) {
      const kept = sql.join(columns.map(name => sql.ref(name)))
      const [idName, id] =
        table === 'usage' ? [sql`id, `, sql`id || ${`-${shift}`}, `] : [sql``, sql``]
      await sql`insert into ${sql.table(table)} (${idName} ${sql.ref(time)}, ${kept})
        select ${id} ${sql.ref(time)} + ${sql.lit(shift)}, ${kept} from ${sql.table(table)}
        where ${sql.ref(time)} >= ${from} and ${sql.ref(time)} < ${until}`.execute(trx)
    }
  })
  await ledger.free.write(trx =>
    sql`insert into usage_anchors (hour_at, requests, tokens)
      select hour_at + ${sql.lit(shift)}, requests, tokens from usage_anchors
      where hour_at >= ${from} and hour_at < ${until}`.execute(trx),
  )
}
