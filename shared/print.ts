import { formatNumber } from './print-number.ts'
import { cutTable, fitTable } from './print-table.ts'
import { escapeHidden, escapeHiddenInJson } from './visible.ts'

/** `table` prints a single record as one row too; `text` prints its members one per line. */
export type Format = 'text' | 'table' | 'json'

type Row = Record<string, unknown>

/** One or several rows, with wire names. */
export type PrintableRows = Row | Row[]

/**
 * Formats a value as JSON for programs. For people, formats one line per member, with dotted names
 * for nested ones, and tables as wide as the terminal; `columns` is its width, unlimited by
 * default.
 */
export const formatOutput = (
  value: PrintableRows,
  format: Format,
  columns = Number.POSITIVE_INFINITY,
): string => {
  if (format === 'json') return `${escapeHiddenInJson(JSON.stringify(value, null, 2))}\n`
  if (Array.isArray(value) && value.every(isRow)) return formatTable(value, columns)
  if (format === 'table' && isRow(value) && typeof value.id === 'string')
    return formatTable([Object.fromEntries(flatten(value))], columns)
  return isRow(value) ? formatRecord(value, columns) : `${formatCell('', value)}\n`
}

/** Width of a terminal; undefined for a file or pipe, where nothing is cut. */
export const terminalWidth = ({ isTTY, columns }: { isTTY?: boolean; columns?: number }) =>
  isTTY === true && columns ? columns : undefined

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isTable = (value: unknown): value is Row[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRow)

const formatRecord = (row: Row, columns: number): string => {
  const all = flatten(omitMembers(row, listOrdinaryFacts(row)))
  const [only] = all
  if (all.length === 1 && only !== undefined && Array.isArray(only[1])) {
    const rows = only[1].map(item => (isRow(item) ? item : { [only[0]]: item }))
    return formatTable(rows, columns)
  }
  const tables = all.filter((member): member is [string, Row[]] => isTable(member[1]))
  return [
    formatMembers(all.filter(([, value]) => !isTable(value))),
    ...tables.map(([name, rows]) => {
      const shown = isOfOneObject(row, name) ? omitEmptyColumns(rows) : rows
      return `${escapeHidden(name)}:\n${formatTable(shown, columns)}`
    }),
  ]
    .filter(part => part !== '')
    .join('\n')
}

/**
 * True for a table that belongs to one object, which shows what there is. The columns of a list
 * stay, so that a program finds the same ones at each call, and so do those of a plan.
 */
const isOfOneObject = (row: Row, name: string): boolean =>
  typeof row.id === 'string' && Object.hasOwn(row, name)

/** Leaves out the columns without a value in any row, unless no column has one. */
const omitEmptyColumns = (rows: Row[]): Row[] => {
  const names = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const empty = names.filter(name =>
    rows.every(row => formatCell(name, memberOf(row, name)) === '-'),
  )
  return empty.length === names.length ? rows : rows.map(row => omitMembers(row, empty))
}

/**
 * Members of a list that say nothing beside its rows: no next page, and as many rows as there are.
 * Without them, the answer is a table whose first line are the names of its columns.
 */
const listOrdinaryFacts = (row: Row): string[] => {
  const [list, ...others] = Object.values(row).filter(Array.isArray)
  if (list === undefined) return []
  const facts = { next: null, ...(others.length === 0 && listFactsOf(list)) }
  return Object.entries(facts).flatMap(([name, value]) => (row[name] === value ? [name] : []))
}

const listFactsOf = ({ length }: unknown[]) => ({
  total: length,
  data_state: length === 0 ? 'empty' : 'live',
})

const flatten = (row: Row, prefix = ''): [string, unknown][] =>
  Object.entries(row).flatMap(([name, value]): [string, unknown][] =>
    isRow(value) && Object.keys(value).length > 0
      ? flatten(value, `${prefix}${name}.`)
      : [[prefix + name, value]],
  )

const formatMembers = (all: [string, unknown][]): string => {
  const width = Math.max(0, ...all.map(([name]) => name.length))
  return all
    .map(([name, value]) => `${escapeHidden(name).padEnd(width)}  ${formatCell(name, value)}\n`)
    .join('')
}

/**
 * Formats rows as a table, the most important columns first: without its empty columns if it does
 * not fit otherwise, then without its last ones.
 */
const formatTable = (rows: Row[], columns: number): string => {
  // rows may have different members, and none of them is left out
  const all = [...new Set(rows.flatMap(row => Object.keys(row)))]
  if (all.length === 0) return 'none\n'
  const names = orderColumns(all)
  const inner = names.filter(name => rows.some(row => isTable(memberOf(row, name))))
  if (inner.length > 0) return formatNested(rows, inner, columns)
  const linesOf = (chosen: string[]) => [
    chosen.map(escapeHidden),
    ...rows.map(row => chosen.map(name => formatCell(name, memberOf(row, name)))),
  ]
  const filled = names.filter(name =>
    rows.some(row => formatCell(name, memberOf(row, name)) !== '-'),
  )
  return (
    fitTable(linesOf(names), columns) ??
    (filled.length > 0 ? fitTable(linesOf(filled), columns) : undefined) ??
    fitFirstColumns(filled.length > 0 ? filled : names, linesOf, columns)
  )
}

const NAMES = ['name', 'label', 'title']
const STATES = ['state', 'status', 'presence']

/** Puts the id, the name and the state of a row first; the other columns keep their order. */
const orderColumns = (names: string[]): string[] => {
  const first = names.includes('id') ? 'id' : (names[0] ?? '')
  const next = [NAMES, STATES].map(kind => names.find(name => kind.includes(name)))
  const leading = [first, ...next.filter(name => name !== undefined)]
  return [...new Set([...leading, ...names])]
}

/** Value of a member; undefined for a name that only other rows have, also for `constructor`. */
const memberOf = (row: Row, name: string): unknown =>
  Object.hasOwn(row, name) ? row[name] : undefined

/** Puts tables nested in rows below the table, each with a column that names its row. */
const formatNested = (rows: Row[], inner: string[], columns: number): string => {
  const outer = rows.map(row => omitTables(row, inner))
  const below = inner.map(name => {
    const all = rows.flatMap((row, at) => listInnerRows(row, name, at))
    return `${escapeHidden(name)}:\n${formatTable(all, columns)}`
  })
  const hasOuter = outer.some(row => Object.keys(row).length > 0)
  return [...(hasOuter ? [formatTable(outer, columns)] : []), ...below].join('\n')
}

/** Members of a row without its tables; where another row has a table, this one may have a value. */
const omitTables = (row: Row, inner: string[]): Row =>
  Object.fromEntries(
    Object.entries(row).filter(
      ([name, value]) => !inner.includes(name) || !(isTable(value) || isEmpty(value)),
    ),
  )

const isEmpty = (value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length === 0)

const omitMembers = (row: Row, names: string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)))

/** Rows inside one member of a row, each prefixed with the first value of that row, or its number. */
const listInnerRows = (row: Row, name: string, at: number): Row[] => {
  const value = memberOf(row, name)
  if (!isTable(value)) return []
  const [id, of] = Object.entries(row).find(([, each]) => !isTable(each)) ?? ['row', at + 1]
  return value.map(each => ({ [Object.hasOwn(each, id) ? 'of' : id]: of, ...each }))
}

/**
 * Formats as many of the first columns as fit, and names the others below. In a very narrow terminal
 * ids are cut as well: their beginning is accepted wherever an id is asked for.
 */
const fitFirstColumns = (
  names: string[],
  linesOf: (chosen: string[]) => string[][],
  columns: number,
): string => {
  for (let count = names.length - 1; count > 1; count--) {
    const text = fitTable(linesOf(names.slice(0, count)), columns)
    if (text !== undefined) return `${text}${describeOmitted(names.slice(count), columns)}`
  }
  const few = Math.min(2, names.length)
  const both = cutTable(linesOf(names.slice(0, few)), columns)
  const text = both ?? cutTable(linesOf(names.slice(0, 1)), columns) ?? ''
  return `${text}${describeOmitted(names.slice(both === undefined ? 1 : few), columns)}`
}

/** Line below a table that names the columns left out, or counts them where that is too long. */
const describeOmitted = (names: string[], columns: number): string => {
  if (names.length === 0) return ''
  const said = `columns omitted: ${names.map(escapeHidden).join(', ')}; --format json prints all`
  const count = `${names.length} columns omitted; --format json prints all`
  return `\n${said.length <= columns ? said : count}\n`
}

const formatCell = (name: string, value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value))
    return value.length === 0 ? '-' : value.map(item => formatItem(name, item)).join(',')
  if (typeof value === 'number') return formatNumber(name, value)
  return escapeHidden(isRow(value) ? formatInline(value) : dropFraction(String(value)))
}

/** A nested list is a choice, such as the roles that may take one seat of a gate. */
const formatItem = (name: string, item: unknown): string =>
  Array.isArray(item) && item.length > 1
    ? item.map(choice => formatCell(name, choice)).join('|')
    : formatCell(name, item)

/** Shortens a timestamp to the second. */
const dropFraction = (text: string): string =>
  text.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z$/, '$1Z')

const formatInline = (row: Row): string =>
  Object.keys(row).length === 0
    ? '-'
    : Object.entries(row)
        .map(
          ([name, value]) =>
            `${name}=${isRow(value) ? JSON.stringify(value) : formatCell(name, value)}`,
        )
        .join(',')
