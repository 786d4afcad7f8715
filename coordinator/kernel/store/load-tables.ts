import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { importFiles } from '../../../shared/import-files.ts'
import type { TableDefinition } from './define-table.ts'
import type { StoreMigration } from './store-migration.ts'

const AREAS = join(import.meta.dirname, '../..')

/** File pattern of the tables, in the folder of their domain. */
const PLACES = '*/*/*.table.ts'

/** Word without which the file of a table declares no migrations, however it is formatted. */
const MIGRATIONS = 'migrations'

/**
 * Every table of the coordinator, each after those that it references. Throws when two have one
 * name, or when a file has no table.
 */
export const loadTables = async (areas = AREAS): Promise<readonly TableDefinition[]> =>
  sortByReferences(await importTables(listFiles(areas)))

type Migrations = Record<TableDefinition['database'], Record<string, StoreMigration>>

let ours: Promise<Migrations> | undefined

/** Migrations that the tables of this program declare, by database; found once in a process. */
export const loadTableMigrations = (): Promise<Migrations> => {
  ours ??= readTableMigrations(AREAS)
  return ours
}

/**
 * Migrations that the tables in a folder of areas declare. Imports only the files that mention any:
 * a command that opens the store would otherwise spend 0.1 s of CPU on all tables.
 */
export const readTableMigrations = async (areas: string): Promise<Migrations> => {
  const files = listFiles(areas).filter(file => readFileSync(file, 'utf8').includes(MIGRATIONS))
  const tables = files.length === 0 ? [] : await importTables(files)
  return { ledger: migrationsOf(tables, 'ledger'), records: migrationsOf(tables, 'records') }
}

const migrationsOf = (
  tables: readonly TableDefinition[],
  database: TableDefinition['database'],
): Record<string, StoreMigration> => {
  const own = tables.filter(table => table.database === database)
  const steps = own.flatMap(({ migrations }) => Object.entries(migrations))
  requireUnique(
    'migration',
    steps.map(([name]) => name),
  )
  return Object.fromEntries(
    steps.map(([name, { statements, compatibleFrom }]) => [
      name,
      { compatibleFrom, up: db => runStatements(db, statements) },
    ]),
  )
}

const runStatements = async (db: Kysely<unknown>, statements: readonly string[]): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const listFiles = (areas: string): string[] =>
  globSync(PLACES, { cwd: areas })
    .toSorted()
    .map(file => join(areas, file))

const importTables = async (files: readonly string[]): Promise<TableDefinition[]> => {
  const exported = await importFiles<Record<string, unknown>>(files)
  const tables = exported.flatMap((each, at) => {
    const found = Object.values(each).filter(isTable)
    if (found.length === 0) throw new TypeError(`${files[at]} exports no table`)
    return found
  })
  requireUnique(
    'table',
    tables.map(({ name }) => name),
  )
  return tables
}

const requireUnique = (what: string, names: readonly string[]): void => {
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new TypeError(`${what} ${twice} is declared twice`)
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
