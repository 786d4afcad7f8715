import { printedNumber } from './print-number.ts'
import { fittedTable } from './print-table.ts'
import { visible, visibleJson } from './visible.ts'

export type Format = 'text' | 'json'

type Row = Record<string, unknown>

/** One row or several, in wire names. */
export type Printable = Row | Row[]

/**
 * JSON for programs. For people a line per member, nested ones by dotted names, and tables as wide
 * as the terminal; `columns` is its width, and without it there is no limit.
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

/** The width of a terminal; undefined for a file or pipe, where nothing is cut. */
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

/** A list that ends here need not say so: there is no further page. */
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

/** A few are read one by one; of more, one wants to see which. */
const FEW = 3

/**
 * A table without its empty columns when it does not fit with them, else row by row; many rows stay
 * a table, without the last columns.
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

/** Tables in the rows of a table come below it, each as one that names the row it belongs to. */
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

/** The rows inside one member of a row, behind what the row begins with: its id. */
const belonging = (row: Row, name: string): Row[] => {
  const value = row[name]
  const [first] = Object.entries(row)
  if (!isTable(value) || first === undefined) return []
  const [id, of] = first
  return value.map(each => ({ [Object.hasOwn(each, id) ? 'of' : id]: of, ...each }))
}

/** As many columns as fit, and the names of the others below. One column alone is no table. */
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

/** A list in a list is a choice, such as the roles that may take one seat of a gate. */
const inList = (name: string, item: unknown): string =>
  Array.isArray(item) && item.length > 1
    ? item.map(choice => shown(name, choice)).join('|')
    : shown(name, item)

/** A moment to the second. */
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
