/**
 * Where a value has half of a character (a surrogate without its pair, which UTF-8 cannot hold and
 * which has no canonical JSON): the path to it, empty for the value itself; undefined when nowhere.
 */
export const halfCharacterAt = (value: unknown): string[] | undefined => {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    if (!name.isWellFormed()) return [name.toWellFormed()]
    const path = halfCharacterAt(member)
    if (path !== undefined) return [name, ...path]
  }
  return undefined
}
