import { integer, text, time } from '../store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../store/define-table.ts'

/** Single row that records the purged part of the audit; see `coordinator/kernel/audit/checkpoint.ts`. */
export const auditCheckpointTable = defineTable('audit_checkpoint', {
  columns: {
    id: integer(),
    seq: integer(),
    hash: text(),
    rows: integer(),
    first_at: time(),
    last_at: time(),
    retention_days: integer(),
    made_at: time(),
    key_id: text(),
    signature: text(),
  },
  key: ['id'],
})

export type AuditCheckpointRow = RowOf<typeof auditCheckpointTable>

declare module '../store/tables.ts' {
  interface LedgerTables {
    audit_checkpoint: TableOf<typeof auditCheckpointTable>
  }
}
