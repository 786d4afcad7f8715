/**
 * Path to the first lone surrogate in a value (UTF-8 cannot encode it, and it has no canonical
 * JSON); empty for the value itself, undefined when there is none.
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
