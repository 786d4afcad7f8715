import { createHash } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'
import type { TaskTransitionRow } from '../store/task-tables.ts'

/** `prev` of a task's first row. */
export const FIRST = '0'.repeat(64)

export type Unsealed = Omit<TaskTransitionRow, 'prev' | 'hash'>

/** SHA-256 over the row and the hash before it, hexadecimal. */
const hashOf = (row: Unsealed & { prev: string }): string =>
  createHash('sha256').update(canonicalJson(row)).digest('hex')

/** The next link of a task's chain. */
export const sealed = (row: Unsealed, prev: string): TaskTransitionRow => ({
  ...row,
  prev,
  hash: hashOf({ ...row, prev }),
})

/** Number of the first row that is not as it was written, or not where it was; undefined if none. */
export const brokenAt = (rows: readonly TaskTransitionRow[]): number | undefined => {
  let prev = FIRST
  for (const [index, { hash, ...row }] of rows.entries()) {
    if (row.seq !== index + 1 || row.prev !== prev || hashOf(row) !== hash) return index + 1
    prev = hash
  }
  return undefined
}
