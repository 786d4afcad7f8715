import * as z from 'zod'
import { integer, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A part of the last run of a discovery module on a cell. */
export const moduleResultTable = defineTable('module_results', {
  columns: {
    /** Empty for a module that runs on the coordinator. */
    cell_id: text(),
    module_id: text(),
    run_id: text(),
    part: integer(),
    /** Start of the run by the clock of its machine. */
    started_at: time(),
    /** Time at which the part arrived. */
    taken_at: time(),
    elapsed_ms: optional(integer()),
    /** How the run ended, in its last part; null in the others. */
    outcome: optional(text()),
    reason: optional(text()),
    /** Warnings and sources. */
    notes_json: json(z.unknown()),
    rows_json: json(z.unknown()),
  },
  key: ['cell_id', 'module_id', 'run_id', 'part'],
  indexes: {
    module_results_by_module: ['module_id', 'taken_at'],
  },
  database: 'records',
})

export type ModuleResultRow = RowOf<typeof moduleResultTable>

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    module_results: TableOf<typeof moduleResultTable>
  }
}
