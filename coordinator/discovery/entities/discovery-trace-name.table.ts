import { text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A key or an address by which a trace is found. */
export const discoveryTraceNameTable = defineTable('discovery_trace_names', {
  columns: {
    name: text(),
    trace_id: text(),
  },
  key: ['name', 'trace_id'],
  indexes: {
    discovery_trace_names_trace: ['trace_id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_trace_names: TableOf<typeof discoveryTraceNameTable>
  }
}
