import { globSync } from 'node:fs'
import { join } from 'node:path'
import { importFiles } from '../../../shared/import-files.ts'
import type { TableDefinition } from './define-table.ts'

const AREAS = join(import.meta.dirname, '../..')

/** File pattern of the tables, in the folder of their domain. */
const PLACES = '*/*/*.table.ts'

/**
 * Every table of the coordinator, each after those that it references. Throws when two have one
 * name, or when a file has no table.
 */
export const loadTables = async (): Promise<readonly TableDefinition[]> => {
  const files = globSync(PLACES, { cwd: AREAS }).toSorted()
  const exported = await importFiles<Record<string, unknown>>(files.map(file => join(AREAS, file)))
  const tables = exported.flatMap((each, at) => {
    const found = Object.values(each).filter(isTable)
    if (found.length === 0) throw new TypeError(`${files[at]} exports no table`)
    return found
  })
  const names = tables.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new TypeError(`table ${twice} is declared twice`)
  return sortByReferences(tables)
}

const isTable = (value: unknown): value is TableDefinition =>
  typeof value === 'object' && value !== null && 'columns' in value && 'key' in value

/** Returns the tables with each after those that it references. */
const sortByReferences = (tables: readonly TableDefinition[]): TableDefinition[] => {
  const sorted = new Set<TableDefinition>()
  const add = (table: TableDefinition): void => {
    if (sorted.has(table)) return
    for (const { references } of Object.values(table.columns)) {
      const referenced = tables.find(({ name }) => name === references?.table)
      if (referenced !== undefined && referenced !== table) add(referenced)
    }
    sorted.add(table)
  }
  for (const table of tables) add(table)
  return [...sorted]
}
