import { createRequire } from 'node:module'
import type StringWidth from 'string-width'

/* Columns that text takes on a terminal: two for wide characters, none for combining ones. */

const PLAIN = /^[\x20-\x7e]*$/

let measure: typeof StringWidth | undefined

/** Number of columns of a text without control characters. */
export const displayWidth = (text: string): number => {
  if (PLAIN.test(text)) return text.length
  // loaded on first use: most tables are plain, and every command pays for what is imported
  measure ??= createRequire(import.meta.url)('string-width').default as typeof StringWidth
  return measure(text)
}

/** Appends spaces up to this number of columns. */
export const padToWidth = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - displayWidth(text)))

/** Cuts a text that is wider, between characters as people see them, and marks the cut. */
export const cutToWidth = (text: string, columns: number): string => {
  if (displayWidth(text) <= columns) return text
  let kept = ''
  let used = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += displayWidth(segment)
    if (used > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}
