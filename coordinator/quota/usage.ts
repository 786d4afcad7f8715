import { sql } from 'kysely'
import { newId } from '../../shared/ids.ts'
import { sumOf } from '../store/count.ts'
import type { InsertTarget } from '../store/engine.ts'
import type { RecordTables, UsageRow } from '../store/record-tables.ts'
import type { Store } from '../store/store.ts'

export type { UsageRow } from '../store/record-tables.ts'

export type NewUsage = Omit<UsageRow, 'id'>

interface UsageSums {
  /** Answers that the cascade has discarded are no requests of their own; their tokens count. */
  requests: number
  promptTokens: number
  completionTokens: number
}

interface UsageFilter {
  keyId?: string
  tenantId?: string
  /** Unix milliseconds; `from` belongs to it, `to` does not. */
  from: number
  to: number
}

export interface UsageStore {
  /**
   * Resolves when the row is committed. Rejects with TypeError for numbers that are not whole, and
   * with `store_unavailable`.
   */
  record(row: NewUsage): Promise<void>
  sums(filter: UsageFilter): Promise<UsageSums>
}

/** A row that cannot be stored would take those that are written with it along. */
export const requireNumbers = (row: NewUsage): void => {
  for (const name of NUMBERS) {
    const value = row[name]
    if (value !== null && !(Number.isSafeInteger(value) && value >= 0))
      throw new TypeError(`usage of ${row.request_id}: ${name} is ${value}`)
  }
}
const NUMBERS = [
  'at',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'duration_ms',
] as const

const USAGE = {
  table: 'usage',
  key: 'id',
  columns: [
    'id',
    'at',
    'key_id',
    'tenant_id',
    'model',
    'cell_id',
    'route',
    'status',
    'prompt_tokens',
    'completion_tokens',
    'cached_tokens',
    'duration_ms',
    'request_id',
  ],
} as const satisfies InsertTarget<RecordTables, 'usage'>

/** Usage, one row per request. Rows of one turn of the event loop are written together. */
export const createUsage = ({ records }: Pick<Store, 'records'>): UsageStore => {
  let open: { rows: UsageRow[]; written: Promise<void> } | undefined

  const record: UsageStore['record'] = async row => {
    requireNumbers(row)
    const whole = { id: newId('use', row.at), ...row }
    if (open === undefined) begin(whole)
    else open.rows.push(whole)
    return open?.written
  }

  const begin = (row: UsageRow): void => {
    const rows = [row]
    const close = () => {
      if (open?.rows === rows) open = undefined
    }
    // sealed, because `sealRows` sums rows and marks them in two statements
    const written = records.sealed.write(trx => {
      close()
      return records.insertNew(trx, USAGE, rows)
    })
    open = { rows, written: written.finally(close) }
  }

  const sums: UsageStore['sums'] = async ({ keyId, tenantId, from, to }) => {
    let query = records.read.selectFrom('usage').where('at', '>=', from).where('at', '<', to)
    if (keyId !== undefined) query = query.where('key_id', '=', keyId)
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
    return query
      .select([
        sql<number>`cast(count(*) filter (where status != 'discarded') as integer)`.as('requests'),
        sumOf('prompt_tokens').as('promptTokens'),
        sumOf('completion_tokens').as('completionTokens'),
      ])
      .executeTakeFirstOrThrow()
  }

  return { record, sums }
}
