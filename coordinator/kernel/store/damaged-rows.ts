/** Limit of the rows of one table that are counted, so that a damaged database takes no memory. */
const MAX_ROWS = 1000

/** Columns that could not be read, by table and key of the row. */
const found = new Map<string, Map<string, string>>()

/** Notes a row by the column that cannot be read. */
export const noteDamagedRow = (table: string, key: string, column: string): void => {
  const rows = found.get(table) ?? new Map<string, string>()
  found.set(table, rows)
  if (rows.has(key) || rows.size < MAX_ROWS) rows.set(key, column)
}

/** Tells whether a row of the table is noted; every read asks. */
export const hasDamagedRows = (table: string): boolean => found.has(table)

/** Forgets a row once a read of its damaged column succeeds, such as after a restore. */
export const forgetDamagedRow = (
  table: string,
  key: string,
  columns: readonly { name: string }[],
): void => {
  const rows = found.get(table)
  const damaged = rows?.get(key)
  if (rows === undefined || !columns.some(({ name }) => name === damaged)) return
  rows.delete(key)
  if (rows.size === 0) found.delete(table)
}

/**
 * Counts the rows that this process could not read when it last tried, by table; 1000 stands for
 * that or more. A row that was deleted is counted until the next start.
 */
export const countDamagedRows = (): Record<string, number> =>
  Object.fromEntries([...found].map(([table, { size }]) => [table, size]))
