import type * as z from 'zod'
import { type CsvRow, CsvScanner, isEmptyRow } from '../../../kernel/base/csv-scanner.ts'
import { parseCell } from './csv-cell.ts'
import { type FileEntry, MAX_RECORD_CHARS } from './file-format.ts'

type Fault = Extract<FileEntry, { fault: string }>

/**
 * Records of a CSV file (RFC 4180) whose first line names the fields. Empty cells are absent
 * fields, lists have their items separated by semicolons, and empty lines are skipped.
 */
export const createCsvReader = (schema: z.ZodObject) =>
  async function* (text: AsyncIterable<string>): AsyncGenerator<FileEntry> {
    let header: string[] | undefined
    for await (const row of readRows(text)) {
      if ('fault' in row) yield row
      else if (header === undefined) {
        header = row.cells.map(cell => cell.trim())
        const fault = headerFault(header, schema)
        if (fault === undefined) continue
        yield { line: row.line, fault }
        return
      } else if (!isEmptyRow(row)) yield entryOf(row, header, schema)
    }
  }

const headerFault = (header: readonly string[], { shape }: z.ZodObject): string | undefined => {
  const known = Object.keys(shape)
  const unknown = header.find(name => !known.includes(name))
  const twice = header.find((name, i) => header.indexOf(name) !== i)
  if (unknown !== undefined)
    return `unknown column ${JSON.stringify(unknown.slice(0, 64))}; known columns: ${known.join(', ')}`
  if (twice !== undefined) return `column ${twice} appears twice`
  return header.includes('id') ? undefined : 'the column id is missing'
}

const entryOf = (
  { line, cells }: CsvRow,
  header: readonly string[],
  schema: z.ZodObject,
): FileEntry => {
  if (cells.length !== header.length)
    return { line, fault: `has ${cells.length} cells instead of ${header.length}` }
  const fields = cells.flatMap((cell, i) => {
    const name = header[i] as string
    return cell === '' ? [] : [[name, parseCell(schema.shape[name] as z.ZodType, cell)] as const]
  })
  return { line, value: Object.fromEntries(fields) }
}

async function* readRows(text: AsyncIterable<string>): AsyncGenerator<CsvRow | Fault> {
  const scanner = new CsvScanner(MAX_RECORD_CHARS)
  const createFault = (what: string): Fault => ({
    line: scanner.startLine,
    fault: `the record ${what}`,
  })
  for await (const piece of text) {
    yield* scanner.scan(piece)
    if (scanner.isTooLong) return yield createFault('is too long; a quote may not be closed')
  }
  if (scanner.isQuoted) yield createFault('has a quote that is not closed')
  else yield* scanner.scan('\n')
}
