import * as z from 'zod'
import { integer, json, oneOf, optional, text, time } from '../store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../store/define-table.ts'

/** One link of the hash chain; see `coordinator/kernel/audit/chain.ts`. */
export const auditTable = defineTable('audit', {
  columns: {
    seq: integer(),
    at: time(),
    actor: text(),
    tenant: optional(text()),
    action: text(),
    subject: text(),
    outcome: oneOf(['done', 'refused']),
    details_json: json(z.record(z.string(), z.json())),
    request_id: optional(text()),
    prev: text(),
    hash: text(),
  },
  key: ['seq'],
  indexes: {
    audit_at: ['at'],
  },
})

export type AuditRow = RowOf<typeof auditTable>

/**
 * Columns that the hash of a row covers. They are named in every query: a column that a newer
 * version adds must not make the rows look changed to an older one.
 */
export const AUDIT_COLUMNS = [
  'seq',
  'at',
  'actor',
  'tenant',
  'action',
  'subject',
  'outcome',
  'details_json',
  'request_id',
  'prev',
  'hash',
] as const satisfies readonly (keyof AuditRow)[]

declare module '../store/tables.ts' {
  interface LedgerTables {
    audit: TableOf<typeof auditTable>
  }
}
