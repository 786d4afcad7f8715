import type { HostLook } from './host.ts'

/** The answer with as many rows as fit into `maxBytes`; `reason` says what was left out. */
export const fit = (data: unknown, maxBytes: number): HostLook => {
  if (bytesOf(data) <= maxBytes) return { available: true, reason: null, data }
  const rows = rowsOf(data)
  if (rows === undefined) return tooLarge(bytesOf(data), maxBytes)
  const rest = maxBytes - bytesOf(withRows(data, []))
  const kept = rows.slice(0, countThatFits(rows, rest))
  const reason = `the first ${kept.length} of ${rows.length} rows: more do not fit into ${maxBytes} bytes`
  return { available: true, reason, data: withRows(data, kept) }
}

const tooLarge = (bytes: number, maxBytes: number): HostLook => ({
  available: false,
  reason: `its answer has ${bytes} bytes, and ${maxBytes} are the most`,
  data: null,
})

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/** A list, or the list of an object that counts its rows beside it. */
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
