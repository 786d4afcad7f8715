import { cutToWidth, displayWidth, padToWidth } from './display-width.ts'

/** Cells of a table as text; the first line holds the column names. */
type Lines = string[][]

const GAP = '  '
/** Shortest width to which a column is cut: long enough to recognise a value. */
const SHORT = 12

/**
 * Formats the lines as a table at most `columns` wide; long values are cut where that helps.
 * Undefined when it does not fit even so.
 */
export const fitTable = (lines: Lines, columns: number): string | undefined => {
  const names = lines[0] ?? []
  return fitWithin(lines, columns, (width, at) =>
    isWhole(names[at]) ? width : Math.min(width, minimumWidth(names[at])),
  )
}

/** The same for one or two columns of a very narrow terminal, where every value may be cut. */
export const cutTable = (lines: Lines, columns: number): string | undefined => {
  const least = (lines[0] ?? []).length > 1 ? SHORT : 1
  return fitWithin(lines, columns, width => Math.min(width, least))
}

const fitWithin = (
  lines: Lines,
  columns: number,
  leastOf: (width: number, at: number) => number,
): string | undefined => {
  const names = lines[0] ?? []
  const full = names.map((_, at) => Math.max(...lines.map(line => displayWidth(line[at] ?? ''))))
  const room = columns - GAP.length * (names.length - 1)
  const widths = shrinkWidths(full, full.map(leastOf), room)
  return widths && lines.map(line => `${formatRow(line, widths)}\n`).join('')
}

/** Values that users copy into the next command are never cut, nor are times. */
const isWhole = (name = ''): boolean => /(^|[._])id$|^secret$|(^|_)at$/.test(name)

const minimumWidth = (name = ''): number => Math.max(name.length, SHORT)

/** Narrows the widest columns first, down to their minimum; undefined when that is not enough. */
const shrinkWidths = (full: number[], least: number[], room: number): number[] | undefined => {
  const widths = [...full]
  for (let over = sum(widths) - room; over > 0; over--) {
    const spare = widths.map((width, at) => (width > (least[at] ?? 0) ? width : 0))
    const widest = Math.max(...spare)
    if (widest === 0) return undefined
    widths[spare.indexOf(widest)] = widest - 1
  }
  return widths
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

const formatRow = (line: string[], widths: number[]): string =>
  line
    .map((text, at) => padToWidth(cutToWidth(text, widths[at] ?? 0), widths[at] ?? 0))
    .join(GAP)
    .trimEnd()
