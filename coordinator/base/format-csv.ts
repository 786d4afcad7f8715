/**
 * Beginnings that a spreadsheet takes for a formula (OWASP, CSV injection). Leading apostrophes are
 * part of them, so that a guard can be told from an apostrophe of the text.
 */
const FORMULA = /^'*[=+\-@＝＋－＠]/
/** At the start of a cell, white space that is dropped may hide a formula. */
const CELL_FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
/**
 * Places where a cell may begin: spreadsheets of many locales separate by semicolons, and then take
 * no notice of quotes within a line.
 */
const PART_STARTS = /(?<=[;\t\r\n])/

/** Formats cells as one line of CSV (RFC 4180), with its line break. */
export const formatCsvRow = (cells: readonly string[]): string =>
  `${cells.map(quoteCell).join(',')}\r\n`

const quoteCell = (cell: string): string =>
  /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

/** Puts an apostrophe before each text that a spreadsheet would run as a formula. */
export const guardFormula = (text: string): string => mapFormulas(text, formula => `'${formula}`)

/** Removes the apostrophes that `guardFormula` has put. */
export const unguardFormula = (text: string): string =>
  mapFormulas(text, formula => (formula.startsWith("'") ? formula.slice(1) : formula))

const mapFormulas = (text: string, map: (formula: string) => string): string =>
  text
    .split(PART_STARTS)
    .map((part, at) => ((at === 0 ? CELL_FORMULA : FORMULA).test(part) ? map(part) : part))
    .join('')
