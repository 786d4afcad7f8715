import { integer, text, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { usageSumColumns } from './usage-sum-columns.ts'

/** Sum of the buckets of one day, written in the same transactions as they are. */
export const usageDayTable = defineTable('usage_days', {
  columns: {
    /** Beginning of the day, UTC. */
    day_at: time(),
    key_id: text(),
    tenant_id: text(),
    model: text(),
    /** Requests by how they ended. */
    ok: withDefault(integer(), 0),
    cancelled: withDefault(integer(), 0),
    failed: withDefault(integer(), 0),
    prompt_tokens: withDefault(integer(), 0),
    cached_tokens: withDefault(integer(), 0),
    completion_tokens: withDefault(integer(), 0),
    duration_ms: withDefault(integer(), 0),
    ...usageSumColumns,
  },
  key: ['day_at', 'key_id', 'tenant_id', 'model'],
  indexes: {
    usage_days_by_key: ['key_id', 'day_at'],
    usage_days_by_tenant: ['tenant_id', 'day_at'],
  },
  database: 'records',
})

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    usage_days: TableOf<typeof usageDayTable>
  }
}
