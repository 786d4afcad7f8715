import type { SnmpSession } from './session.ts'

/** Values of a table by row and column; a row is named by the rest of the object identifier. */
export interface SnmpTable {
  rows: ReadonlyMap<string, ReadonlyMap<number, unknown>>
  isTruncated: boolean
}

interface TableWalk {
  /** Object identifier of the entry: `1.3.6.1.2.1.2.2.1`. */
  entry: string
  columns: readonly number[]
  maxRows: number
}

/** Reads columns of a table until they end, `maxRows` is reached, or the agent falls silent. */
export const walkTable = async (
  session: SnmpSession,
  { entry, columns, maxRows }: TableWalk,
): Promise<SnmpTable> => {
  const rows = new Map<string, Map<number, unknown>>()
  let isTruncated = false
  for (const column of columns) {
    const end = await walkColumn(session, `${entry}.${column}`, maxRows, (index, value) => {
      const row = rows.get(index) ?? new Map<number, unknown>()
      if (!rows.has(index) && rows.size >= maxRows) return
      rows.set(index, row.set(column, value))
    })
    isTruncated ||= end === 'cut'
    // what an agent lacks in its first column it does not have at all
    if (rows.size === 0) break
  }
  return { rows, isTruncated }
}

const walkColumn = async (
  session: SnmpSession,
  column: string,
  maxRows: number,
  onValue: (index: string, value: unknown) => void,
): Promise<'complete' | 'cut'> => {
  const prefix = `${column}.`
  let last = column
  for (let count = 0; ; ) {
    const found = await session.getNext(last)
    if (found === undefined) return 'cut'
    if (found.length === 0) return 'complete'
    for (const { oid, value } of found) {
      if (!oid.startsWith(prefix)) return 'complete'
      if (!isAfter(oid, last) || ++count > maxRows) return 'cut'
      last = oid
      onValue(oid.slice(prefix.length), value)
    }
  }
}

/** Order of object identifiers (RFC 3416, 4.2.2); an agent that breaks it would be asked forever. */
const isAfter = (oid: string, other: string): boolean => {
  const [left, right] = [oid.split('.').map(Number), other.split('.').map(Number)]
  for (const [at, number] of left.entries()) {
    const compared = right[at]
    if (compared === undefined || number > compared) return true
    if (number < compared) return false
  }
  return false
}
