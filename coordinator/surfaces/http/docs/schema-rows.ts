import type { JsonSchema } from '../../../kernel/declaration/json-schema.ts'

/** One field of a body or answer, or one parameter, as a line of a table. */
export interface Row {
  /** Full path of the field, such as `document.log.level`; `[]` represents every item of a list. */
  name: string
  type: string
  required: boolean
  note: string
}

const MAX_DEPTH = 4
/** Largest number of choices shown with the type; longer lists get a sentence. */
const FEW = 3

/** The fields of an object, those within their own objects and lists included. */
export const rowsOf = (schema: JsonSchema, prefix = '', depth = 0): Row[] => {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).flatMap(([key, property]) => {
    const name = `${prefix}${key}`
    const inner = depth < MAX_DEPTH ? innerOf(property) : undefined
    return [
      { name, type: typeOf(property), required: required.includes(key), note: noteOf(property) },
      ...(inner === undefined ? [] : rowsOf(inner.schema, `${name}${inner.join}`, depth + 1)),
    ]
  })
}

/** Object within a field, or the fields of all its alternatives together. */
const innerOf = (schema: JsonSchema): { schema: JsonSchema; join: string } | undefined => {
  if (schema.properties !== undefined) return { schema, join: '.' }
  const found = choicesOf(schema)
    .map(innerOf)
    .filter(inner => inner !== undefined)
  const [first] = found
  if (first !== undefined)
    return { schema: mergeObjects(found.map(inner => inner.schema)), join: first.join }
  const items = isSchema(schema.items) ? innerOf(schema.items) : undefined
  return items && { schema: items.schema, join: `[]${items.join}` }
}

/** Merges objects: every field of any of them; a field is required if all of them require it. */
const mergeObjects = (objects: readonly JsonSchema[]): JsonSchema => {
  const [first = {}, ...more] = objects
  if (more.length === 0) return first
  const all = objects.map(each => (each.properties ?? {}) as Record<string, JsonSchema>)
  const names = [...new Set(all.flatMap(properties => Object.keys(properties)))]
  const properties = names.map(name => {
    const kinds = all.map(each => each[name]).filter(each => each !== undefined)
    return [name, kinds.length === 1 ? kinds[0] : { anyOf: kinds }]
  })
  const required = names.filter(name =>
    objects.every(each => (each.required as string[] | undefined)?.includes(name)),
  )
  return { properties: Object.fromEntries(properties), required }
}

const choicesOf = ({ anyOf, oneOf }: JsonSchema): JsonSchema[] =>
  ((anyOf ?? oneOf ?? []) as unknown[]).filter(isSchema)

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const typeOf = (schema: JsonSchema): string => {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum) && schema.enum.length <= FEW)
    return schema.enum.map(choice => JSON.stringify(choice)).join(' | ')
  const choices = choicesOf(schema)
  if (choices.length > 0)
    return [...new Set(choices.flatMap(choice => typeOf(choice).split(' | ')))].join(' | ')
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  if (schema.type === 'array')
    return isSchema(schema.items) ? `list of ${typeOf(schema.items)}` : 'list'
  return typeof schema.type === 'string' ? schema.type : 'any'
}

/** Description, bounds and default of a field. */
const noteOf = (schema: JsonSchema): string =>
  [
    typeof schema.description === 'string' ? schema.description : '',
    Array.isArray(schema.enum) && schema.enum.length > FEW
      ? `One of ${schema.enum.join(', ')}.`
      : '',
    boundsOf(schema),
    schema.default === undefined ? '' : `Default ${JSON.stringify(schema.default)}.`,
  ]
    .filter(part => part !== '')
    .join(' ')

const boundsOf = (schema: JsonSchema): string => {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems } =
    Object.assign({}, ...choicesOf(schema), schema) as JsonSchema
  const parts = [
    formatRange(minimum, maximum, ''),
    exclusiveMinimum === undefined ? '' : `above ${exclusiveMinimum}`,
    formatRange(minLength, maxLength, ' characters'),
    formatRange(minItems, maxItems, ' items'),
  ].filter(part => part !== '')
  const text = parts.join(', ')
  return text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}.`
}

const formatRange = (least: unknown, most: unknown, unit: string): string => {
  if (least === undefined && most === undefined) return ''
  if (least === undefined) return most === 0 && unit !== '' ? `no${unit}` : `at most ${most}${unit}`
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`
}
