import type { DocumentLimits } from './document.ts'

/**
 * Describes the bound of values or depth that a value exceeds; undefined when it exceeds none. An
 * iterative walk, since a parser returns values that nest deeper than the stack.
 */
export const findExcess = (
  root: unknown,
  { maxValues, maxDepth }: Pick<DocumentLimits, 'maxValues' | 'maxDepth'>,
): string | undefined => {
  let level: unknown[] = [root]
  let values = 1
  for (let depth = 1; level.length > 0; depth++) {
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue
      if (depth > maxDepth) return `nests deeper than ${maxDepth} levels`
      for (const member of membersOf(value)) {
        if (++values > maxValues) return `has more than ${maxValues} values`
        next.push(member)
      }
    }
    level = next
  }
  return undefined
}

const membersOf = (value: object): Iterable<unknown> =>
  Array.isArray(value) || value instanceof Map ? value.values() : Object.values(value)
