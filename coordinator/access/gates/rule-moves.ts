/**
 * Returns the fewest rules that must be moved to turn one order into another, among those in both.
 */
export const listMovedRules = (before: readonly string[], after: readonly string[]): string[] => {
  const kept = before.filter(id => after.includes(id))
  const staying = findLongestIncreasing(kept.map(id => after.indexOf(id)))
  return kept.filter((_, at) => !staying.has(at))
}

/** Indexes of a longest increasing subsequence of distinct numbers. */
const findLongestIncreasing = (numbers: readonly number[]): Set<number> => {
  const rows: Row[] = []
  for (const [at, number] of numbers.entries()) {
    const before = findLongest(rows.filter(row => (numbers[row.at] ?? 0) < number))
    rows.push({ at, before, length: 1 + (before?.length ?? 0) })
  }
  const found = new Set<number>()
  for (let row = findLongest(rows); row !== undefined; row = row.before) found.add(row.at)
  return found
}

/** An increasing subsequence that ends with the number at an index. */
interface Row {
  at: number
  before: Row | undefined
  length: number
}

const findLongest = (rows: readonly Row[]): Row | undefined =>
  rows.reduce<Row | undefined>(
    (best, row) => (row.length > (best?.length ?? 0) ? row : best),
    undefined,
  )
