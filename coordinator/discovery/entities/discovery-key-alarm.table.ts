import { oneOf, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A trace whose key should identify one thing and is carried by others too. */
export const discoveryKeyAlarmTable = defineTable('discovery_key_alarms', {
  columns: {
    key: text(),
    trace_id: text(),
    state: oneOf(['contradicted', 'quarantined', 'shared']),
    /** Time of the first alarm, Unix milliseconds. */
    at: time(),
  },
  key: ['key', 'trace_id'],
  indexes: {
    discovery_key_alarms_trace: ['trace_id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_key_alarms: TableOf<typeof discoveryKeyAlarmTable>
  }
}
