/** A spreadsheet would run a cell that begins like a formula (OWASP, CSV injection). */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/

/** Text that a spreadsheet shows as text: one that begins like a formula gets an apostrophe. */
export const guardCell = (text: string): string => (FORMULA.test(text) ? `'${text}` : text)

/** The text that `guardCell` was given. */
export const stripGuard = (cell: string): string =>
  cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell

/** A cell as RFC 4180 has it: in quotes where it needs them. */
export const quoteCell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
