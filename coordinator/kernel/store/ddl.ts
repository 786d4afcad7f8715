import type { AnyColumn, SqlType } from './columns.ts'
import type { TableDefinition } from './define-table.ts'

type EngineName = 'sqlite' | 'postgres'

const TYPES: Record<EngineName, Record<SqlType, string>> = {
  sqlite: { text: 'text', integer: 'bigint', real: 'double precision' },
  postgres: { text: 'text', integer: 'bigint', real: 'double precision' },
}

/**
 * Statements that make a table and its indexes as the definition has them. A migration contains the
 * text as it was on its day, never a call of this: a released migration does not change.
 */
export const ddlOf = (table: TableDefinition, engine: EngineName): string[] => [
  `create table ${quote(table.name)} (${[...columnsOf(table, engine), ...keysOf(table)].join(', ')})`,
  ...Object.entries(table.indexes).map(
    ([name, { on, isUnique, where }]) =>
      `create ${isUnique ? 'unique ' : ''}index ${quote(name)} on ${quote(table.name)} (${on.map(quoteOrder).join(', ')})${where === undefined ? '' : ` where ${where}`}`,
  ),
]

const columnsOf = ({ columns }: TableDefinition, engine: EngineName): string[] =>
  Object.entries(columns).map(([name, column]) =>
    [quote(name), TYPES[engine][column.sql], ...constraintsOf(column)].join(' '),
  )

const constraintsOf = ({ isNullable, default: value, references }: AnyColumn): string[] => [
  ...(value === undefined ? [] : [`default ${typeof value === 'string' ? `'${value}'` : value}`]),
  ...(isNullable ? [] : ['not null']),
  ...(references === undefined ? [] : [`references ${quote(references.table)} ("id")`]),
  ...(references?.onDelete === undefined ? [] : [`on delete ${references.onDelete}`]),
]

const keysOf = ({ key, unique }: TableDefinition): string[] => [
  `primary key (${key.map(quote).join(', ')})`,
  ...unique.map(columns => `unique (${columns.map(quote).join(', ')})`),
]

const quote = (name: string): string => `"${name}"`

/** `at desc` is `"at" desc`. */
const quoteOrder = (column: string): string => column.replace(/^\w+/, quote)
