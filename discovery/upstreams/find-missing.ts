/**
 * Lists the fields that an answer lacks. `[]` stands for the members of a list, of which at least one
 * must have the rest of the path; an empty list has nothing. In a text, a field is a word.
 */
export const findMissing = (body: unknown, fields: readonly string[]): string[] =>
  fields.filter(field =>
    typeof body === 'string'
      ? !body.includes(field)
      : !hasPath(body, field.replaceAll('[]', '.[]').split('.').filter(Boolean)),
  )

const hasPath = (value: unknown, [first, ...rest]: readonly string[]): boolean => {
  if (first === undefined) return value !== undefined
  if (first === '[]') return Array.isArray(value) && value.some(member => hasPath(member, rest))
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, first) &&
    hasPath((value as Record<string, unknown>)[first], rest)
  )
}
