/** Most rows of one table that are told apart, so that a damaged database takes no memory. */
const MAX_ROWS = 1000

/** Keys of the rows of each table that this process could not read. */
const found = new Map<string, Set<string>>()

/** Notes a row that cannot be read. */
export const noteDamagedRow = (table: string, key: string): void => {
  const keys = found.get(table) ?? new Set()
  found.set(table, keys)
  if (keys.size < MAX_ROWS) keys.add(key)
}

/**
 * Numbers of rows that this process could not read since its start, by table: 1000 stands for that
 * or more, and a row that was mended meanwhile is still counted.
 */
export const countDamagedRows = (): Record<string, number> =>
  Object.fromEntries([...found].map(([table, { size }]) => [table, size]))
