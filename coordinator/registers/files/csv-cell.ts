import * as z from 'zod'

/** A spreadsheet would run a cell that begins like a formula (OWASP, CSV injection). */
const FORMULA = /^'*[=+\-@\t\r]/
const PLAIN = /^(true|false|-?\d+(\.\d+)?)$/

/** Value of a cell for a field: a text, number, boolean, or list with semicolons. */
export const parseCell = (schema: z.ZodType, cell: string): unknown => {
  const text = cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell
  const readings: unknown[] = [text]
  if (PLAIN.test(text)) readings.push(JSON.parse(text))
  readings.push(text.split(';').map(item => item.trim()))
  const faults = readings.map(reading => z.safeParse(schema, reading).error?.issues[0]?.code)
  const best = faults.includes(undefined) ? undefined : faults.find(code => code !== 'invalid_type')
  return readings[faults.indexOf(best)] ?? text
}

/** The value of a field as a cell that spreadsheets show as text, and `parseCell` reads again. */
export const formatCell = (value: unknown): string => {
  if (value === undefined) return ''
  if (typeof value !== 'string' && !Array.isArray(value)) return String(value)
  const text = Array.isArray(value) ? value.join(';') : value
  const guarded = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}
