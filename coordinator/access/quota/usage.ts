import { sql } from 'kysely'
import { newId } from '../../../shared/ids.ts'
import { sumOf } from '../../kernel/store/count.ts'
import type { InsertTarget } from '../../kernel/store/engine.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'
import type { UsageRow } from './usage.table.ts'
import { UsageAnchors } from './usage-anchors.ts'
import { addToHours, sumHours } from './usage-hours.ts'

export type { UsageRow } from './usage.table.ts'

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
  /**
   * Writes rows in one transaction, and resolves when it is committed. Rows that are there already
   * are left out.
   */
  recordRows(rows: readonly UsageRow[]): Promise<void>
  /** Tells the ledger of the rows that were written since the last call. */
  anchor(): Promise<void>
  sums(filter: UsageFilter): Promise<UsageSums>
}

/** A row that cannot be stored would take those that are written with it along. */
export const requireNumbers = (row: NewUsage): void => {
  for (const name of NUMBERS) {
    const value = row[name]
    if (value != null && !(Number.isSafeInteger(value) && value >= 0))
      throw new TypeError(`usage of ${row.request_id}: ${name} is ${value}`)
  }
}
const NUMBERS = [
  'at',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'duration_ms',
  'ttft_ms',
  'retries',
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
    'ttft_ms',
    'retries',
  ],
} as const satisfies InsertTarget<RecordTables, 'usage'>

/** Usage, one row per request, with the totals of its hours beside it and in the ledger. */
export const createUsage = ({ records, ledger }: Pick<Store, 'records' | 'ledger'>): UsageStore => {
  const anchors = new UsageAnchors(ledger)
  const recordRows: UsageStore['recordRows'] = async rows => {
    // sealed, because `sealRows` sums rows and marks them in two statements
    const added = await records.sealed.write(async trx => {
      const inserted = await records.insertNew(trx, USAGE, rows)
      const totals = sumHours(inserted.length === rows.length ? rows : pick(rows, inserted))
      await addToHours(trx, totals)
      return totals
    })
    anchors.add(added)
  }

  const record: UsageStore['record'] = async row => {
    requireNumbers(row)
    await recordRows([{ id: newId('use', row.at), ...row }])
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

  return { record, recordRows, anchor: () => anchors.write(), sums }
}

const pick = (rows: readonly UsageRow[], ids: readonly unknown[]): UsageRow[] => {
  const wanted = new Set(ids)
  return rows.filter(({ id }) => wanted.has(id))
}
