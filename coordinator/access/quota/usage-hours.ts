import { crc32 } from 'node:zlib'
import { sql, type Transaction } from 'kysely'
import { startOfHour } from '../../../shared/time.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'
import type { UsageRow } from './usage.table.ts'

/** Totals of the rows of one hour. */
export interface HourTotals {
  hour_at: number
  requests: number
  tokens: number
  checksum: number
}

/** Sums of checksums stay exact in a double. */
const CHECKSUM_LIMIT = 2 ** 52

/** Adds up rows by their hours. The order of the rows does not matter. */
export const sumHours = (rows: readonly UsageRow[]): HourTotals[] => {
  const hours = new Map<number, HourTotals>()
  for (const row of rows) {
    const hour_at = startOfHour(row.at)
    let hour = hours.get(hour_at)
    if (hour === undefined) {
      hour = createHour(hour_at)
      hours.set(hour_at, hour)
    }
    addRow(hour, row)
  }
  return [...hours.values()]
}

export const createHour = (hour_at: number): HourTotals => ({
  hour_at,
  requests: 0,
  tokens: 0,
  checksum: 0,
})

export const addRow = (hour: HourTotals, row: UsageRow): void => {
  if (row.status !== 'discarded') hour.requests++
  hour.tokens += (row.prompt_tokens ?? 0) + (row.completion_tokens ?? 0)
  hour.checksum = (hour.checksum + checksumOf(row)) % CHECKSUM_LIMIT
}

const checksumOf = (row: UsageRow): number =>
  crc32(
    [
      row.id,
      row.request_id,
      row.at,
      row.key_id,
      row.tenant_id,
      row.model,
      row.cell_id,
      row.route,
      row.status,
      // null is a word of its own
      String(row.prompt_tokens),
      String(row.completion_tokens),
      String(row.cached_tokens),
      row.duration_ms,
    ].join(' '),
  )

/** Adds totals to the hours of the records, in the transaction that inserts their rows. */
export const addToHours = async (
  trx: Transaction<RecordTables>,
  totals: readonly HourTotals[],
): Promise<void> => {
  for (const { hour_at, requests, tokens, checksum } of totals)
    await sql`
      insert into usage_hours (hour_at, requests, tokens, checksum)
      values (${hour_at}, ${requests}, ${tokens}, ${checksum})
      on conflict (hour_at) do update set
        requests = usage_hours.requests + excluded.requests,
        tokens = usage_hours.tokens + excluded.tokens,
        checksum = (usage_hours.checksum + excluded.checksum) % ${sql.lit(CHECKSUM_LIMIT)}`.execute(
      trx,
    )
}
