import * as z from 'zod'
import { guardFormula, unguardFormula } from '../../../kernel/base/format-csv.ts'

/** Numbers and booleans of JSON; digits after a leading zero are text, such as `007`. */
const PLAIN = /^(true|false|-?(0|[1-9]\d*)(\.\d+)?)$/

/** Reads a cell as the value of a field: a text, number, boolean, or list with semicolons. */
export const parseCell = (schema: z.ZodType, cell: string): unknown => {
  const text = unguardFormula(cell)
  const faults: { reading: unknown; code: string | undefined }[] = []
  for (const read of READINGS) {
    const reading = read(text)
    const { success, error } = z.safeParse(schema, reading)
    if (success) return reading
    faults.push({ reading, code: error.issues[0]?.code })
  }
  return (faults.find(({ code }) => code !== 'invalid_type') ?? faults[0])?.reading
}

const READINGS: readonly ((text: string) => unknown)[] = [
  text => text,
  text => (PLAIN.test(text) ? JSON.parse(text) : text),
  text => text.split(';').map(item => item.trim()),
]

/** The value of a field as a cell that spreadsheets show as text, and `parseCell` reads again. */
export const formatCell = (value: unknown): string => {
  if (value === undefined) return ''
  if (typeof value !== 'string' && !Array.isArray(value)) return String(value)
  return guardFormula(Array.isArray(value) ? value.join(';') : value)
}
