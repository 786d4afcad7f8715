export type Format = 'text' | 'json'

/** One row or several, in wire names. */
export type Printable = Record<string, unknown> | Record<string, unknown>[]

/** JSON for programs; for people a table of several rows, and one line per member of a single. */
export const printed = (value: Printable, format: Format): string => {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`
  return Array.isArray(value) ? table(value) : members(value)
}

/** Unix milliseconds as RFC 3339; null for what did not happen. */
export const time = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString()

const members = (row: Record<string, unknown>): string => {
  const width = Math.max(...Object.keys(row).map(name => name.length))
  return Object.entries(row)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}\n`)
    .join('')
}

const table = (rows: Record<string, unknown>[]): string => {
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return 'none\n'
  const lines = [names, ...rows.map(row => names.map(name => cell(row[name])))]
  const widths = names.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)))
  return lines.map(line => `${pad(line, widths)}\n`).join('')
}

const pad = (line: string[], widths: number[]): string =>
  line
    .map((text, column) => text.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()

/** Names may come from a cell: what could move the cursor of a terminal is left out. */
const cell = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-'
  const text = Array.isArray(value) ? value.join(',') : String(value)
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?')
}
