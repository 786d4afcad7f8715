import { text } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Part of a formation, and the command that carries it out. */
export const formationPartTable = defineTable('formation_parts', {
  columns: {
    formation_id: text(),
    cell_id: text(),
    part_hash: text(),
    command_id: text(),
  },
  key: ['formation_id', 'cell_id'],
})

export type FormationPart = Omit<EntityOf<typeof formationPartTable>, 'formationId'>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    formation_parts: TableOf<typeof formationPartTable>
  }
}
