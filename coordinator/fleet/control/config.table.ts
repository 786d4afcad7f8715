import * as z from 'zod'
import { integer, json, oneOf, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

export const CONFIG_SCOPES = ['cell', 'tag', 'fleet'] as const

/**
 * Configuration of cells: one row per cell id (scope `cell`), per tag (scope `tag`), and one for all
 * (scope `fleet`).
 */
export const configTable = defineTable('configs', {
  columns: {
    scope: oneOf(CONFIG_SCOPES),
    /** The cell's id, the tag, `FLEET` or `EGRESS`. */
    name: text(),
    /** Grows over all rows together, so no two changes have the same. */
    version: integer(),
    document_json: json(z.record(z.string(), z.unknown())),
    changed_at: time(),
    changed_by: text(),
  },
  key: ['scope', 'name'],
})

export type StoredConfig = EntityOf<typeof configTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    configs: TableOf<typeof configTable>
  }
}
