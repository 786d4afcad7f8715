import type { JsonSchema } from '../coordinator/kernel/declaration/json-schema.ts'
import { jsonSchema } from '../coordinator/kernel/declaration/json-schema.ts'
import type { Operation } from '../coordinator/kernel/declaration/operation.ts'

/** The inputs and outputs of all operations as TypeScript, for the client package. */
export const clientTypes = (
  skills: readonly Operation[],
  operations: readonly Operation[],
): string =>
  [
    '// Made by `npm run docs` from the lists that the coordinator serves; do not edit it by hand.',
    '',
    '/** Anything that JSON can hold. */',
    'export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }',
    '',
    '/** Input and output of each skill, by its id. */',
    ...interfaceOf('Skills', skills),
    '',
    '/** Input and output of each operation and skill, by its id. */',
    ...interfaceOf('Operations', operations, ' extends Skills'),
    '',
  ].join('\n')

const interfaceOf = (name: string, all: readonly Operation[], base = ''): string[] => [
  `export interface ${name}${base} {`,
  ...all.flatMap(({ id, description, input, output }) => [
    `  /** ${description.replaceAll('*/', '* /')} */`,
    `  '${id}': { input: ${typeOf(jsonSchema(input))}; output: ${typeOf(jsonSchema(output))} }`,
  ]),
  '}',
]

/** References point to definitions that name themselves, which only JSON itself does here. */
const typeOf = (schema: JsonSchema): string => {
  const { type, enum: choices, const: constant, anyOf, oneOf, $ref } = schema
  if ($ref !== undefined) return 'Json'
  if (constant !== undefined) return literal(constant)
  if (Array.isArray(choices)) return union(choices.map(literal))
  const parts = anyOf ?? oneOf
  if (Array.isArray(parts)) return union(parts.map(typeOf))
  if (Array.isArray(type)) return union(type.map(each => typeOf({ ...schema, type: each })))
  return renderType(String(type ?? 'any'), schema)
}

const renderType = (type: string, schema: JsonSchema): string => {
  if (type === 'object') return objectOf(schema)
  if (type === 'array')
    return schema.items === undefined ? 'Json[]' : `(${typeOf(schema.items as JsonSchema)})[]`
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  return 'Json'
}

const objectOf = ({ properties, required, additionalProperties }: JsonSchema): string => {
  const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>)
  const needed = new Set((required ?? []) as string[])
  const other =
    typeof additionalProperties === 'object' && additionalProperties !== null
      ? typeOf(additionalProperties as JsonSchema)
      : undefined
  if (fields.length === 0)
    return other === undefined ? 'Record<string, never>' : `Record<string, ${other}>`
  return `{ ${fields
    .map(([name, field]) => `'${name}'${needed.has(name) ? '' : '?'}: ${typeOf(field)}`)
    .join('; ')} }`
}

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)

const union = (parts: string[]): string => [...new Set(parts)].join(' | ')
