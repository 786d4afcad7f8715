import type { JsonSchema } from '../../coordinator/kernel/declaration/json-schema.ts'

type Schema = JsonSchema &
  Record<'items' | 'additionalProperties' | 'propertyNames', JsonSchema | false>

/** A whole text of parts of which each has a largest number. */
const isBoundedPattern = (pattern: unknown): boolean =>
  typeof pattern === 'string' &&
  /^\^.*\$$/.test(pattern) &&
  !/[*+]|,\}/.test(pattern.replaceAll(/\[[^\]]*\]/g, ''))

/** Formats whose texts have a largest length. */
const BOUNDED_FORMATS: readonly unknown[] = ['ipv4', 'ipv6', 'uuid', 'date']

/** Places in an input where somebody could send without end. */
export const findUnbounded = (schema: JsonSchema, at: string): string[] => {
  const { type, items, additionalProperties, properties = {} } = schema as Partial<Schema>
  if ('x-max-bytes' in schema) return []
  const branches = ['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap(
    name => (schema[name] ?? []) as JsonSchema[],
  )
  const inside = [
    ...branches.flatMap(branch => findUnbounded(branch, at)),
    ...Object.entries(properties as object).flatMap(([name, member]) =>
      findUnbounded(member, `${at}.${name}`),
    ),
    ...(items ? findUnbounded(items, `${at}[]`) : []),
  ]
  if ('enum' in schema || 'const' in schema) return inside
  const isBounded = 'maxLength' in schema || BOUNDED_FORMATS.includes(schema.format)
  if (type === 'string' && !isBounded && !isBoundedPattern(schema.pattern))
    inside.push(`${at}: a text`)
  if (type === 'array' && items !== false && !('maxItems' in schema)) inside.push(`${at}: a list`)
  if (type === 'object' && additionalProperties !== false && !('maxProperties' in schema))
    inside.push(`${at}: an object`)
  if (type === undefined && branches.length === 0) inside.push(`${at}: anything`)
  return inside
}
