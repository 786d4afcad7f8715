import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import type { TaskTransitionRow } from './task-transition.table.ts'

/** `prev` of the first row of a task. */
export const FIRST = '0'.repeat(64)

export type UnsealedTransition = Omit<TaskTransitionRow, 'prev' | 'hash'>

/** SHA-256 of the row and the previous hash, hexadecimal. */
const hashOf = (row: UnsealedTransition & { prev: string }): string =>
  createHash('sha256').update(canonicalJson(row)).digest('hex')

/** Returns the next link of a task's chain. */
export const sealRow = (row: UnsealedTransition, prev: string): TaskTransitionRow => ({
  ...row,
  prev,
  hash: hashOf({ ...row, prev }),
})

/**
 * Returns the number of the first row that was altered or is out of place; undefined if there is
 * none.
 */
export const findBrokenRow = (rows: readonly TaskTransitionRow[]): number | undefined => {
  let prev = FIRST
  for (const [index, { hash, ...row }] of rows.entries()) {
    if (row.seq !== index + 1 || row.prev !== prev || hashOf(row) !== hash) return index + 1
    prev = hash
  }
  return undefined
}
