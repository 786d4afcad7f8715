import { integer, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { usageSumColumns } from './usage-sum-columns.ts'

/** Sums of one hour. */
export const usageBucketTable = defineTable('usage_buckets', {
  columns: {
    /** Beginning of the hour, UTC. */
    hour_at: time(),
    key_id: text(),
    tenant_id: text(),
    model: text(),
    /** Requests by how they ended. */
    ok: integer(),
    cancelled: integer(),
    failed: integer(),
    prompt_tokens: integer(),
    cached_tokens: integer(),
    completion_tokens: integer(),
    duration_ms: integer(),
    ...usageSumColumns,
  },
  key: ['hour_at', 'key_id', 'tenant_id', 'model'],
  indexes: {
    usage_buckets_by_key: ['key_id', 'hour_at'],
    usage_buckets_by_tenant: ['tenant_id', 'hour_at'],
    usage_buckets_by_model: ['model', 'hour_at'],
  },
  database: 'records',
})

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    usage_buckets: TableOf<typeof usageBucketTable>
  }
}
