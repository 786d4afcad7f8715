import * as z from 'zod'
import { guardFormula, unguardFormula } from '../../base/format-csv.ts'

const PLAIN = /^(true|false|-?\d+(\.\d+)?)$/

/** Reads a cell as the value of a field: a text, number, boolean, or list with semicolons. */
export const parseCell = (schema: z.ZodType, cell: string): unknown => {
  const text = unguardFormula(cell)
  const readings: unknown[] = [text]
  if (PLAIN.test(text)) readings.push(JSON.parse(text))
  readings.push(text.split(';').map(item => item.trim()))
  const faults = readings.map(reading => z.safeParse(schema, reading).error?.issues[0]?.code)
  const best = faults.includes(undefined) ? undefined : faults.find(code => code !== 'invalid_type')
  return readings[faults.indexOf(best)] ?? text
}

/** Formats a field as a cell that spreadsheets show as text and `parseCell` reads back. */
export const formatCell = (value: unknown): string => {
  if (value === undefined) return ''
  if (typeof value !== 'string' && !Array.isArray(value)) return String(value)
  return guardFormula(Array.isArray(value) ? value.join(';') : value)
}
