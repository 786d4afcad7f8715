import type { Generated } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { AnyColumn } from './columns.ts'
import { forgetDamagedRow, hasDamagedRows, noteDamagedRow } from './damaged-rows.ts'
import type { TableMigrations } from './store-migration.ts'

export type Columns = Readonly<Record<string, AnyColumn>>

type Stored<C extends AnyColumn> = ReturnType<C['write']>
type Value<C extends AnyColumn> = ReturnType<C['read']>

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

/** Name of a column in code: `docked_at` is `dockedAt`, `roles_json` is `roles`. */
export type Field<Name extends string> = Camel<Name extends `${infer Head}_json` ? Head : Name>

type Row<C extends Columns> = { -readonly [N in keyof C]: Stored<C[N]> }
type Names<C extends Columns> = keyof C & string
type Nullable<C extends Columns> = {
  [N in Names<C>]: null extends Stored<C[N]> ? (undefined extends Value<C[N]> ? N : never) : never
}[Names<C>]
type Defaulted<C extends Columns> = {
  [N in Names<C>]: C[N]['hasDefault'] extends true ? N : never
}[Names<C>]
type Fields<C extends Columns, N extends Names<C>> = {
  -readonly [M in N as Field<M>]: Value<C[M]>
}
/** One object type in place of an intersection. */
type Flat<T> = { [N in keyof T]: T[N] }
/** Fields of a row; those that may be null may be left out. */
export type Entity<C extends Columns> = Flat<
  Fields<C, Exclude<Names<C>, Nullable<C>>> & Partial<Fields<C, Nullable<C>>>
>
type NewEntity<C extends Columns> = Flat<
  Fields<C, Exclude<Names<C>, Nullable<C> | Defaulted<C>>> &
    Partial<Fields<C, Nullable<C> | Defaulted<C>>>
>
type NewRow<C extends Columns> = Flat<
  Omit<Row<C>, Defaulted<C>> & Partial<Pick<Row<C>, Defaulted<C>>>
>

/** Row as a query returns it, with the names of the database. */
export type RowOf<T extends { columns: Columns }> = Row<T['columns']>
/** Row as code uses it. */
export type EntityOf<T extends { columns: Columns }> = Entity<T['columns']>
/** Table as the query builder sees it: an INSERT may leave out columns with a default. */
export type TableOf<T extends { columns: Columns }> = {
  -readonly [N in keyof T['columns']]: T['columns'][N]['hasDefault'] extends true
    ? Generated<Stored<T['columns'][N]>>
    : Stored<T['columns'][N]>
}

interface Index<Name extends string> {
  on: readonly (Name | `${Name} desc`)[]
  isUnique?: true
  /** Condition of a partial index, as SQL. */
  where?: string
}

interface Options<Name extends string> {
  /** Columns of the primary key, in their order. */
  key: readonly Name[]
  /** Columns that are unique together, beside the key. */
  unique?: readonly (readonly Name[])[]
  /** Indexes by their names, which are unique in the database. */
  indexes?: Readonly<Record<string, Index<Name>['on'] | Index<Name>>>
  /** Database of the table: `ledger` unless the newest rows may be lost in a power failure. */
  database?: 'ledger' | 'records'
  /** Rows that belong to processes and connections, which `store copy` leaves out. */
  isLive?: boolean
  /** Steps of the schema by name, after those in `migrations.ts` and `record-migrations.ts`. */
  migrations?: TableMigrations
}

/** Facts about a table besides the types of its columns. */
export interface TableDefinition {
  readonly name: string
  readonly database: 'ledger' | 'records'
  readonly columns: Columns
  readonly key: readonly string[]
  readonly unique: readonly (readonly string[])[]
  readonly indexes: Readonly<Record<string, Index<string>>>
  readonly isLive: boolean
  readonly migrations: TableMigrations
}

interface Table<C extends Columns> extends TableDefinition {
  readonly columns: C
  readonly key: readonly (keyof C & string)[]
  /** Throws ShoalError `internal` that names the row and the column which cannot be read. */
  read(row: Row<C>): Entity<C>
  /** Reads a row, with the fields of `fallback` in place of columns that cannot be read. */
  readOr(row: Row<C>, fallback: Entity<C>): Entity<C>
  /** Reads the columns that a query has selected. */
  readSome<R extends Partial<Row<C>>>(row: R): Entity<Pick<C, keyof R & keyof C>>
  /** Leaves out a column with a default whose field is left out. */
  write(entity: NewEntity<C>): NewRow<C>
  /** Writes the given fields, for an UPDATE. */
  writeSome<E extends Partial<Entity<C>>>(fields: E): Partial<Row<C>>
}

/** One column, with its names on both sides. */
interface CompiledColumn {
  name: string
  field: string
  column: AnyColumn
}

/**
 * Declares a table. `columns` has the names of the database; the order of the columns is that of
 * `CREATE TABLE`. Readers and writers are made once, here, and not per row.
 */
export const defineTable = <const C extends Columns>(
  name: string,
  {
    columns,
    key,
    unique = [],
    indexes = {},
    database = 'ledger',
    isLive = false,
    migrations = {},
  }: Options<keyof C & string> & { columns: C },
): Table<C> => {
  const compiled = Object.entries<AnyColumn>(columns).map(
    ([name, column]): CompiledColumn => ({ name, field: fieldOf(name), column }),
  )
  const pick = (wanted: (column: CompiledColumn) => boolean) => compiled.filter(wanted)
  const read = (row: Values, columns: readonly CompiledColumn[]) =>
    readColumns({ name, key }, row, columns)
  return {
    name,
    database,
    columns,
    key,
    unique,
    indexes: Object.fromEntries(
      Object.entries<Index<string> | readonly string[]>(indexes).map(([name, index]) => [
        name,
        'on' in index ? index : { on: index },
      ]),
    ),
    isLive,
    migrations,
    read: row => read(row, compiled) as Entity<C>,
    readOr: (row, fallback) => readColumnsOr(row, fallback, compiled) as Entity<C>,
    readSome: row =>
      read(
        row,
        pick(({ name }) => name in row),
      ) as never,
    write: entity => writeColumns(entity, compiled) as NewRow<C>,
    writeSome: fields =>
      writeColumns(
        fields,
        pick(({ field }) => field in fields),
      ) as Partial<Row<C>>,
  }
}

/** Name of a column in code; the same as the type `Field`. */
export const fieldOf = (name: string): string =>
  name.replace(/_json$/, '').replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase())

type Values = Readonly<Record<string, unknown>>

/** Runs for every row that is read: an index and no closures make it twice as fast. */
const readColumns = (
  table: Pick<TableDefinition, 'name' | 'key'>,
  row: Values,
  columns: readonly CompiledColumn[],
): Values => {
  const entity: Record<string, unknown> = {}
  let at = 0
  try {
    for (; at < columns.length; at++) {
      const { name, field, column } = columns[at] as CompiledColumn
      entity[field] = column.read(row[name])
    }
  } catch (error) {
    throw createDamagedError(table, row, columns[at]?.name ?? '', error)
  }
  if (hasDamagedRows(table.name)) forgetDamagedRow(table.name, describeKey(table, row), columns)
  return entity
}

const readColumnsOr = (
  row: Values,
  fallback: Values,
  columns: readonly CompiledColumn[],
): Values => {
  const entity: Record<string, unknown> = {}
  for (const { name, field, column } of columns)
    try {
      entity[field] = column.read(row[name])
    } catch {
      entity[field] = fallback[field]
    }
  return entity
}

const writeColumns = (fields: Values, columns: readonly CompiledColumn[]): Values => {
  const row: Record<string, unknown> = {}
  for (const { name, field, column } of columns)
    if (!column.hasDefault || field in fields) row[name] = column.write(fields[field])
  return row
}

/** Key of a row for people; rows without their keys have the same one. */
const describeKey = ({ key }: Pick<TableDefinition, 'key'>, row: Values): string =>
  key.map(part => `${part} ${row[part] ?? 'not selected'}`).join(', ')

const createDamagedError = (
  table: Pick<TableDefinition, 'name' | 'key'>,
  row: Values,
  column: string,
  error: unknown,
): ShoalError => {
  const { name } = table
  const id = describeKey(table, row)
  noteDamagedRow(name, id, column)
  const why = error instanceof Error ? error.message : 'unknown'
  return new ShoalError('internal', `${name} (${id}): column ${column} is damaged: ${why}`, {
    cause: error,
  })
}
