import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { type TaskTransition, taskTransitionTable } from './task-transition.table.ts'

/** `prev` of the first transition of a task. */
export const FIRST = '0'.repeat(64)

export type UnsealedTransition = Omit<TaskTransition, 'prev' | 'hash'>

/** SHA-256 of the stored row, which has the previous hash, without its own; hexadecimal. */
const hashOf = (transition: Omit<TaskTransition, 'hash'>): string => {
  const { hash: _, ...row } = taskTransitionTable.write({ ...transition, hash: '' })
  return createHash('sha256').update(canonicalJson(row)).digest('hex')
}

/** Returns the next link of a task's chain. */
export const sealTransition = (transition: UnsealedTransition, prev: string): TaskTransition => ({
  ...transition,
  prev,
  hash: hashOf({ ...transition, prev }),
})

/**
 * Returns the number of the first transition that was altered or is out of place; undefined if
 * there is none.
 */
export const findBrokenTransition = (all: readonly TaskTransition[]): number | undefined => {
  let prev = FIRST
  for (const [index, transition] of all.entries()) {
    const { seq, hash } = transition
    if (seq !== index + 1 || transition.prev !== prev || hashOf(transition) !== hash)
      return index + 1
    prev = hash
  }
  return undefined
}
