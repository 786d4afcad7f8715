import { flag, integer, text, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A module on a cell with one input: only its own runs can be compared. */
export const discoveryScannerTable = defineTable('discovery_scanners', {
  columns: {
    id: text(),
    cell_id: text(),
    module: text(),
    /** Run that was completed last. */
    run_id: text(),
    /** Number of completed runs. */
    runs: integer(),
    at: time(),
    /** Run that started last among those of which parts are stored. */
    newest_run_id: withDefault(text(), ''),
    newest_started_at: withDefault(time(), 0),
    /** Number of the part that is expected next. */
    newest_parts: withDefault(integer(), 0),
    /** Completeness of the newest run: when a part was lost, the run proves no absence. */
    newest_is_whole: withDefault(flag(), 0),
  },
  key: ['id'],
})

export type StoredScanner = EntityOf<typeof discoveryScannerTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_scanners: TableOf<typeof discoveryScannerTable>
  }
}
