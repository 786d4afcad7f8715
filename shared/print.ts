import { printedNumber } from './print-number.ts'
import { fittedTable } from './print-table.ts'
import { visible, visibleJson } from './visible.ts'

export type Format = 'text' | 'json'

type Row = Record<string, unknown>

/** One or several rows, with wire names. */
export type Printable = Row | Row[]

/**
 * Formats a value as JSON for programs. For people, formats one line per member, with dotted names
 * for nested ones, and tables as wide as the terminal; `columns` is its width, unlimited by
 * default.
 */
export const printed = (
  value: Printable,
  format: Format,
  columns = Number.POSITIVE_INFINITY,
): string => {
  if (format === 'json') return `${visibleJson(JSON.stringify(value, null, 2))}\n`
  if (Array.isArray(value) && value.every(isRow)) return table(value, columns)
  return isRow(value) ? record(value, columns) : `${shown('', value)}\n`
}

/** Width of a terminal; undefined for a file or pipe, where nothing is cut. */
export const columnsOf = ({ isTTY, columns }: { isTTY?: boolean; columns?: number }) =>
  isTTY === true && columns ? columns : undefined

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isTable = (value: unknown): value is Row[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRow)

const record = (row: Row, columns: number): string => {
  const all = flat(isLastPage(row) ? without(row, ['next']) : row)
  const [only] = all
  if (all.length === 1 && only !== undefined && Array.isArray(only[1])) {
    const rows = only[1].map(item => (isRow(item) ? item : { [only[0]]: item }))
    return table(rows, columns)
  }
  const tables = all.filter((member): member is [string, Row[]] => isTable(member[1]))
  return [
    members(all.filter(([, value]) => !isTable(value))),
    ...tables.map(([name, rows]) => `${visible(name)}:\n${table(rows, columns)}`),
  ]
    .filter(part => part !== '')
    .join('\n')
}

/** True for the last page of a list, whose `next` is not worth a line. */
const isLastPage = (row: Row): boolean =>
  row.next === null && Object.values(row).some(value => Array.isArray(value))

const flat = (row: Row, prefix = ''): [string, unknown][] =>
  Object.entries(row).flatMap(([name, value]): [string, unknown][] =>
    isRow(value) && Object.keys(value).length > 0
      ? flat(value, `${prefix}${name}.`)
      : [[prefix + name, value]],
  )

const members = (all: [string, unknown][]): string => {
  const width = Math.max(0, ...all.map(([name]) => name.length))
  return all
    .map(([name, value]) => `${visible(name).padEnd(width)}  ${shown(name, value)}\n`)
    .join('')
}

/** Up to this many rows are printed one by one when their table does not fit. */
const FEW = 3

/**
 * Formats rows as a table, without its empty columns if it does not fit otherwise; then row by row,
 * or, for many rows, as a table without the last columns.
 */
const table = (rows: Row[], columns: number): string => {
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return 'none\n'
  const inner = names.filter(name => rows.some(row => isTable(row[name])))
  if (inner.length > 0) return withInner(rows, inner, columns)
  const linesOf = (chosen: string[]) => [
    chosen.map(visible),
    ...rows.map(row => chosen.map(name => shown(name, row[name]))),
  ]
  const filled = names.filter(name => rows.some(row => shown(name, row[name]) !== '-'))
  return (
    fittedTable(linesOf(names), columns) ??
    fittedTable(linesOf(filled), columns) ??
    (rows.length > FEW ? firstColumns(filled, linesOf, columns) : undefined) ??
    rows.map(row => members(names.map(name => [name, row[name]]))).join('\n')
  )
}

/** Puts tables nested in rows below the table, each with a column that names its row. */
const withInner = (rows: Row[], inner: string[], columns: number): string => {
  const outer = rows.map(row => without(row, inner))
  const below = inner.map(name => {
    const all = rows.flatMap(row => belonging(row, name))
    return `${visible(name)}:\n${table(all, columns)}`
  })
  return [table(outer, columns), ...below].join('\n')
}

const without = (row: Row, names: string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)))

/** Rows inside one member of a row, each prefixed with the first column of that row: its id. */
const belonging = (row: Row, name: string): Row[] => {
  const value = row[name]
  const [first] = Object.entries(row)
  if (!isTable(value) || first === undefined) return []
  const [id, of] = first
  return value.map(each => ({ [Object.hasOwn(each, id) ? 'of' : id]: of, ...each }))
}

/**
 * Formats as many columns as fit and lists the names of the others below. One column alone is not a
 * table.
 */
const firstColumns = (
  names: string[],
  linesOf: (chosen: string[]) => string[][],
  columns: number,
): string | undefined => {
  for (let count = names.length - 1; count > 1; count--) {
    const text = fittedTable(linesOf(names.slice(0, count)), columns)
    const others = names.slice(count).map(visible).join(', ')
    if (text !== undefined) return `${text}\nnot shown: ${others}; --format json has all\n`
  }
  return undefined
}

const shown = (name: string, value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value))
    return value.length === 0 ? '-' : value.map(item => inList(name, item)).join(',')
  if (typeof value === 'number') return printedNumber(name, value)
  return visible(isRow(value) ? brief(value) : withoutFraction(String(value)))
}

/** A nested list is a choice, such as the roles that may take one seat of a gate. */
const inList = (name: string, item: unknown): string =>
  Array.isArray(item) && item.length > 1
    ? item.map(choice => shown(name, choice)).join('|')
    : shown(name, item)

/** Shortens a timestamp to the second. */
const withoutFraction = (text: string): string =>
  text.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z$/, '$1Z')

const brief = (row: Row): string =>
  Object.keys(row).length === 0
    ? '-'
    : Object.entries(row)
        .map(
          ([name, value]) => `${name}=${isRow(value) ? JSON.stringify(value) : shown(name, value)}`,
        )
        .join(',')
