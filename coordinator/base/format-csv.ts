/**
 * Places where a spreadsheet would run the text as a formula (OWASP, CSV injection): its start, and
 * what follows a semicolon, a tab or a line break, since spreadsheets of many locales separate by
 * semicolons and then take no notice of quotes within a line. Leading apostrophes are part of it, so
 * that a guard can be told from an apostrophe of the text.
 */
const FORMULAS = /^(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])(?='*[=+\-@＝＋－＠])/g
const GUARDS = /^'(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])'(?='*[=+\-@＝＋－＠])/g

/** Formats cells as one line of CSV (RFC 4180), with its line break. */
export const formatCsvRow = (cells: readonly string[]): string =>
  `${cells.map(quoteCell).join(',')}\r\n`

const quoteCell = (cell: string): string =>
  /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

/** Puts an apostrophe before each text that a spreadsheet would run as a formula. */
export const guardFormula = (text: string): string => text.replaceAll(FORMULAS, "'")

/** Removes the apostrophes that `guardFormula` has put. */
export const unguardFormula = (text: string): string => text.replaceAll(GUARDS, '')
