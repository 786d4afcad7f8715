import type { ProbeResult } from './host.ts'

/** Truncates an answer to the rows that fit into `maxBytes`; `reason` says what was left out. */
export const truncateAnswer = (data: unknown, maxBytes: number): ProbeResult => {
  if (bytesOf(data) <= maxBytes) return { available: true, reason: null, data }
  const rows = rowsOf(data)
  if (rows === undefined) return toTooLarge(bytesOf(data), maxBytes)
  const rest = maxBytes - bytesOf(withRows(data, []))
  const kept = rows.slice(0, countThatFits(rows, rest))
  const reason = `the answer has only the first ${kept.length} of ${rows.length} rows: more do not fit into ${maxBytes} bytes`
  return { available: true, reason, data: withRows(data, kept) }
}

const toTooLarge = (bytes: number, maxBytes: number): ProbeResult => ({
  available: false,
  reason: `the answer has ${bytes} bytes; the limit is ${maxBytes}`,
  data: null,
})

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/** Rows of a list, or of an object's `list`. */
const rowsOf = (data: unknown): unknown[] | undefined => {
  if (Array.isArray(data)) return data
  const { list } = data as { list?: unknown }
  return Array.isArray(list) ? list : undefined
}

const withRows = (data: unknown, rows: unknown[]): unknown =>
  Array.isArray(data) ? rows : { ...(data as object), list: rows }

/** Counts the rows that fit, each with a comma after it. */
const countThatFits = (rows: readonly unknown[], maxBytes: number): number => {
  let bytes = 0
  const over = rows.findIndex(row => {
    bytes += bytesOf(row) + 1
    return bytes > maxBytes
  })
  return over === -1 ? rows.length : over
}
