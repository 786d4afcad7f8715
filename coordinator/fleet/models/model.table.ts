import * as z from 'zod'
import { RegisteredModel } from '../../../shared/wire/registered-models.ts'
import { flag, integer, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A model, or another id for one. The row of a removed one stays until the next change. */
export const modelTable = defineTable('models', {
  columns: {
    id: text(),
    /** The catalogue entry; null for an alias. */
    entry_json: optional(json(RegisteredModel)),
    /** Id of the model that an alias stands for; null for a model. */
    alias_of: optional(text()),
    /** Ids of the cells that it is for; an empty list means all. */
    cells_json: json(z.array(z.string())),
    /** Grows over all rows and over the configuration of cells together. */
    version: integer(),
    /** True once it is removed. */
    removed: flag(),
    changed_at: time(),
    changed_by: text(),
  },
  key: ['id'],
})

export type ModelRow = RowOf<typeof modelTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    models: TableOf<typeof modelTable>
  }
}
