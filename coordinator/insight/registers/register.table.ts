import * as z from 'zod'
import { flag, integer, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A record of a register, with the facts that are kept beside it. Times are unix milliseconds. */
export const registerTable = defineTable('register_records', {
  columns: {
    tenant_id: text(),
    /** Id of the register. */
    register: text(),
    /** Key of the record within the register of the tenant. */
    id: text(),
    /** Fields of the record; their schema is that of the register. */
    record_json: json(z.looseObject({})),
    /** 1 for a new record; grows with every change. */
    revision: integer(),
    /** Flag of a record of the example organisation. */
    is_example: flag(),
    /** Import that has written it last; undefined for a single change. */
    import_id: optional(text()),
    changed_at: time(),
    changed_by: text(),
  },
  key: ['tenant_id', 'register', 'id'],
  indexes: {
    register_records_example: ['tenant_id', 'is_example'],
  },
})

export type StoredRecord = EntityOf<typeof registerTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    register_records: TableOf<typeof registerTable>
  }
}
