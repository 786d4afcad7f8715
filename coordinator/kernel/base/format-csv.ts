/**
 * Beginnings that a spreadsheet takes for a formula (OWASP, CSV injection). Spreadsheets drop white
 * space and invisible characters, and read `""=1` as an empty quotation before a formula.
 * Leading apostrophes are part of it, so that a guard can be told from an apostrophe of the text.
 */
const FORMULA = /^[\s\p{C}"']*[=+\-@＝＋－＠]/u
/** Beginning of a formula. At the start of a cell, white space that is dropped may hide one. */
const CELL_FORMULA = /^[\s\p{C}"']*[=+\-@\t\r\n＝＋－＠]/u
/**
 * Places where a cell may begin: spreadsheets separate by semicolons, tabs or bars in some locales,
 * and then take no notice of quotes within a line. A comma is not among them: rows are separated by
 * commas, so a spreadsheet that splits at one heeds the quotes around it.
 */
const PART_STARTS = /(?<=[;|\t\r\n\v\f\u0085\u2028\u2029])/

/** Formats cells as one line of CSV (RFC 4180), with its line break. */
export const formatCsvRow = (cells: readonly string[]): string =>
  `${cells.map(quoteCell).join(',')}\r\n`

/** Characters for which a cell is quoted. */
const SPECIAL = /[",;|\t\r\n\v\f\u0085\u2028\u2029]/

const quoteCell = (cell: string): string =>
  SPECIAL.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

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
