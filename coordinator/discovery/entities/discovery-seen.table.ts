import { integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Run in which a scanner saw a trace last. */
export const discoverySeenTable = defineTable('discovery_seen', {
  columns: {
    scanner_id: text(),
    trace_id: text(),
    run: integer(),
  },
  key: ['scanner_id', 'trace_id'],
  indexes: {
    discovery_seen_run: ['scanner_id', 'run'],
    discovery_seen_trace: ['trace_id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_seen: TableOf<typeof discoverySeenTable>
  }
}
