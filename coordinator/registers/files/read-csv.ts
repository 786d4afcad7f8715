import type * as z from 'zod'
import { parseCell } from './csv-cell.ts'
import { type FileEntry, MAX_RECORD_CHARS } from './file-format.ts'

type Fault = Extract<FileEntry, { fault: string }>

interface Row {
  line: number
  cells: string[]
}

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
      } else if (row.cells.length > 1 || row.cells[0] !== '') yield entryOf(row, header, schema)
    }
  }

const headerFault = (header: readonly string[], { shape }: z.ZodObject): string | undefined => {
  const known = Object.keys(shape)
  const unknown = header.find(name => !known.includes(name))
  const twice = header.find((name, i) => header.indexOf(name) !== i)
  if (unknown !== undefined)
    return `unknown column ${JSON.stringify(unknown.slice(0, 64))}; known columns: ${known.join(', ')}`
  if (twice !== undefined) return `column ${twice} is there twice`
  return header.includes('id') ? undefined : 'the column id is missing'
}

const entryOf = (
  { line, cells }: Row,
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

async function* readRows(text: AsyncIterable<string>): AsyncGenerator<Row | Fault> {
  const scanner = new RowScanner()
  for await (const piece of text) {
    yield* scanner.scan(piece)
    if (scanner.isTooLong) return yield scanner.fault('is too long; a quote may not be closed')
  }
  if (scanner.isQuoted) yield scanner.fault('has a quote that is not closed')
  else yield* scanner.scan('\n')
}

/** Where the scanner is: before a cell, in a bare one, in a quoted one, or behind a quote in it. */
type Place = 'start' | 'bare' | 'quoted' | 'quote'

/** Splits text into rows of cells, over the borders of pieces. */
class RowScanner {
  #place: Place = 'start'
  #line = 1
  #startLine = 1
  #cells: string[] = []
  #cell = ''
  #chars = 0

  get isQuoted(): boolean {
    return this.#place === 'quoted'
  }

  get isTooLong(): boolean {
    return this.#chars > MAX_RECORD_CHARS
  }

  fault(fault: string): Fault {
    return { line: this.#startLine, fault: `the record ${fault}` }
  }

  *scan(piece: string): Generator<Row> {
    for (const char of piece) {
      this.#chars++
      if (char === '\n') this.#line++
      if (this.isQuoted) this.#addQuoted(char)
      else if (char === '"' && this.#place !== 'bare') this.#openQuote()
      else if (char === ',') this.#endCell()
      else if (char === '\n') yield this.#endRow()
      else this.#addBare(char)
      if (this.isTooLong) return
    }
  }

  #addQuoted(char: string): void {
    if (char === '"') this.#place = 'quote'
    else this.#cell += char
  }

  /** A second quote behind one in a quoted cell is a quote of the text. */
  #openQuote(): void {
    if (this.#place === 'quote') this.#cell += '"'
    this.#place = 'quoted'
  }

  #addBare(char: string): void {
    if (this.#place === 'start') this.#place = 'bare'
    this.#cell += char
  }

  #endCell(): void {
    this.#cells.push(this.#cell)
    this.#cell = ''
    this.#place = 'start'
  }

  #endRow(): Row {
    if (this.#cell.endsWith('\r')) this.#cell = this.#cell.slice(0, -1)
    this.#endCell()
    const row = { line: this.#startLine, cells: this.#cells }
    this.#cells = []
    this.#chars = 0
    this.#startLine = this.#line
    return row
  }
}
