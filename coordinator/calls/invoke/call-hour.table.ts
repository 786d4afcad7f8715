import { integer, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Calls of one operation by one tenant that ended in one hour. */
export const callHourTable = defineTable('call_hours', {
  columns: {
    /** Beginning of the hour, UTC. */
    hour_at: time(),
    /** Empty for calls without a key. */
    tenant_id: text(),
    operation_id: text(),
    calls: integer(),
    errors: integer(),
    duration_ms: integer(),
  },
  key: ['hour_at', 'tenant_id', 'operation_id'],
  database: 'records',
})

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    call_hours: TableOf<typeof callHourTable>
  }
}
