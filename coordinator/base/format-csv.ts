/**
 * Text that a spreadsheet would run as a formula (OWASP, CSV injection). Leading apostrophes are part
 * of it, so that a guard can be told from an apostrophe of the text.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/

/** Formats cells as one line of CSV (RFC 4180), with its line break. */
export const formatCsvRow = (cells: readonly string[]): string =>
  `${cells.map(quoteCell).join(',')}\r\n`

const quoteCell = (cell: string): string =>
  /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

/** Puts an apostrophe before text that a spreadsheet would run as a formula. */
export const guardFormula = (text: string): string => (FORMULA.test(text) ? `'${text}` : text)

/** Removes the apostrophe that `guardFormula` has put before a text. */
export const unguardFormula = (text: string): string =>
  text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text
