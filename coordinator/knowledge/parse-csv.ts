import { ShoalError } from '../../shared/errors.ts'

interface CsvLine {
  /** Number of the first line of the record in the text, from 1. */
  line: number
  cells: string[]
}

/**
 * Records of a CSV text (RFC 4180): commas, quotes doubled inside quoted fields, CRLF or LF. Empty
 * lines are skipped. Throws `invalid_request` for a quoted field that does not end.
 */
export const parseCsv = (text: string): CsvLine[] => {
  const records: CsvLine[] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  let line = 1
  let record: CsvLine = { line, cells: [] }
  while (field.lastIndex < text.length || record.cells.length > 0) {
    const match = field.exec(text)
    if (match === null)
      throw new ShoalError('invalid_request', `line ${line}: a quoted field is not closed`, {
        param: 'text',
      })
    const [whole, quoted, plain = '', end] = match
    record.cells.push(quoted?.replaceAll('""', '"') ?? plain.trim())
    line += whole.split('\n').length - 1
    if (end === ',') continue
    if (record.cells.length > 1 || record.cells[0] !== '') records.push(record)
    record = { line, cells: [] }
  }
  return records
}
