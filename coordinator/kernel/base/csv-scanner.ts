/** A row of a CSV text. */
export interface CsvRow {
  /** Line on which the row begins, from 1. */
  line: number
  cells: string[]
}

/** Position of the scanner: before a cell, in a bare or quoted one, or after a quote within it. */
type Place = 'start' | 'bare' | 'quoted' | 'quote'

/** Splits CSV text (RFC 4180, CRLF or LF) into rows of cells; the text may come in pieces. */
export class CsvScanner {
  readonly #maxRowChars: number
  #place: Place = 'start'
  #line = 1
  #startLine = 1
  #cells: string[] = []
  #cell = ''
  #chars = 0

  constructor(maxRowChars: number) {
    this.#maxRowChars = maxRowChars
  }

  /** Line on which the unfinished row begins, from 1. */
  get startLine(): number {
    return this.#startLine
  }

  /** True inside a quoted cell. */
  get isQuoted(): boolean {
    return this.#place === 'quoted'
  }

  /** True when the unfinished row is longer than allowed; `scan` stops there. */
  get isTooLong(): boolean {
    return this.#chars > this.#maxRowChars
  }

  *scan(piece: string): Generator<CsvRow> {
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

  /** Opens a quoted cell, or adds the quote that two quotes within one stand for. */
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

  #endRow(): CsvRow {
    if (this.#cell.endsWith('\r')) this.#cell = this.#cell.slice(0, -1)
    this.#endCell()
    const row = { line: this.#startLine, cells: this.#cells }
    this.#cells = []
    this.#chars = 0
    this.#startLine = this.#line
    return row
  }
}

/** True for a line without characters. */
export const isEmptyRow = ({ cells }: CsvRow): boolean => cells.length === 1 && cells[0] === ''
