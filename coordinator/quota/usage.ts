import { CompiledQuery, type Transaction } from 'kysely'
import { newId } from '../../shared/ids.ts'
import type { RecordTables, UsageRow } from '../store/record-tables.ts'
import type { Store } from '../store/store.ts'

export type { UsageRow } from '../store/record-tables.ts'

export type NewUsage = Omit<UsageRow, 'id'>

export interface UsageSums {
  /** Answers that the cascade has discarded are no requests of their own; their tokens count. */
  requests: number
  promptTokens: number
  completionTokens: number
}

export interface UsageFilter {
  keyId?: string
  tenantId?: string
  /** Unix milliseconds; `from` belongs to it, `to` does not. */
  from: number
  to: number
}

export interface Usage {
  /**
   * Resolves when the row is committed. Rejects with TypeError for numbers that are not whole, and
   * with `store_unavailable`.
   */
  record(row: NewUsage): Promise<void>
  sums(filter: UsageFilter): Promise<UsageSums>
}

/** Rows per INSERT. */
const CHUNK = 64

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

/** In the order of their place in a row. */
const COLUMNS = [
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
] as const satisfies readonly (keyof UsageRow)[]

/** Written once for each number of rows: building it anew costs more than the insert itself. */
const statements = new Map<number, string>()
const statementFor = (rows: number): string => {
  const known = statements.get(rows)
  if (known !== undefined) return known
  const places = `(${COLUMNS.map(() => '?').join(', ')})`
  const values = Array.from({ length: rows }, () => places).join(', ')
  const text = `insert into usage (${COLUMNS.join(', ')}) values ${values} on conflict (id) do nothing`
  statements.set(rows, text)
  return text
}

const insert = async (trx: Transaction<RecordTables>, rows: UsageRow[]): Promise<void> => {
  for (let at = 0; at < rows.length; at += CHUNK) {
    const chunk = rows.slice(at, at + CHUNK)
    const values = chunk.flatMap(row => COLUMNS.map(name => row[name]))
    await trx.executeQuery(CompiledQuery.raw(statementFor(chunk.length), values))
  }
}

/** What was used, one row per request. Rows of one turn of the event loop are written together. */
export const createUsage = ({ records }: Pick<Store, 'records'>): Usage => {
  let open: { rows: UsageRow[]; written: Promise<void> } | undefined

  const record: Usage['record'] = async row => {
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
    const written = records.write(trx => {
      close()
      return insert(trx, rows)
    })
    open = { rows, written: written.finally(close) }
  }

  const sums: Usage['sums'] = async ({ keyId, tenantId, from, to }) => {
    let query = records.read.selectFrom('usage').where('at', '>=', from).where('at', '<', to)
    if (keyId !== undefined) query = query.where('key_id', '=', keyId)
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
    const row = await query
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('status', '!=', 'discarded').as('requests'),
        fn.sum<number | null>('prompt_tokens').as('promptTokens'),
        fn.sum<number | null>('completion_tokens').as('completionTokens'),
      ])
      .executeTakeFirstOrThrow()
    const { requests, promptTokens, completionTokens } = row
    return { requests, promptTokens: promptTokens ?? 0, completionTokens: completionTokens ?? 0 }
  }

  return { record, sums }
}
