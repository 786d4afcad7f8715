import * as z from 'zod'
import type { ModuleRow, UpstreamSource } from '../../../shared/wire/findings.ts'
import { growingWords, integer, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { RUN_OUTCOMES } from '../entities/findings-sink.ts'

/** A source as a lookup of any version has stored it. */
const StoredSource = z.custom<UpstreamSource>(
  value => typeof value === 'object' && value !== null,
  'expected a source',
)

/** Notes that are kept beside the rows of a run. */
const ResultNotes = z.looseObject({
  warnings: z.array(z.object({ code: z.string(), message: z.string() })).readonly(),
  /** Sources of a lookup. */
  sources: z.array(StoredSource).readonly().optional(),
})
export type ResultNotes = z.infer<typeof ResultNotes>

/** A row as it was stored: a module has checked it, and a result has megabytes of them. */
const StoredRow = z.custom<ModuleRow>(
  value => typeof value === 'object' && value !== null,
  'expected an object',
)

/** A part of the last run of a discovery module on a cell. */
export const moduleResultTable = defineTable('module_results', {
  columns: {
    /** Empty for a module that runs on the coordinator. */
    cell_id: text(),
    module_id: text(),
    run_id: text(),
    /** Number of the part, from 0. */
    part: integer(),
    /** Start of the run by the clock of its machine. */
    started_at: time(),
    /** Time at which the part arrived. */
    taken_at: time(),
    elapsed_ms: optional(integer()),
    /** End of the run, in its last part; undefined in the others. */
    outcome: optional(growingWords(RUN_OUTCOMES)),
    reason: optional(text()),
    notes_json: json(ResultNotes),
    rows_json: json(z.array(StoredRow).readonly()),
  },
  key: ['cell_id', 'module_id', 'run_id', 'part'],
  indexes: {
    module_results_by_module: ['module_id', 'taken_at'],
  },
  database: 'records',
})

export type StoredResult = EntityOf<typeof moduleResultTable>

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    module_results: TableOf<typeof moduleResultTable>
  }
}
