import { oneOf, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { ALERT_RULES, type AlertRule } from './alert-rules.ts'

/** An alert. At most one per rule, cell and part is raised at a time. */
export const alertTable = defineTable('alerts', {
  columns: {
    id: text(),
    rule: oneOf(Object.keys(ALERT_RULES) as AlertRule[]),
    /** Empty for the fleet and for the coordinator itself. */
    cell_id: text(),
    /** GPU or engine of the cell, or a model; empty when the alert is not about one of them. */
    part: text(),
    message: text(),
    raised_at: time(),
    cleared_at: optional(time()),
    /** Person who looks after the alert. */
    acknowledged_by: optional(text()),
    acknowledged_at: optional(time()),
    note: optional(text()),
  },
  key: ['id'],
  indexes: {
    alerts_raised: { on: ['rule', 'cell_id', 'part'], isUnique: true, where: 'cleared_at is null' },
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    alerts: TableOf<typeof alertTable>
  }
}
