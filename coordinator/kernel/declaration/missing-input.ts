import type { ShoalError } from '../../../shared/errors.ts'
import type { Declaration } from './declaration.ts'
import { type JsonSchema, jsonSchema } from './json-schema.ts'

interface MissingInput {
  names: string[]
  /** JSON Schema of an object with just these fields. */
  schema: JsonSchema
}

/**
 * Missing fields of an input that is otherwise valid: required fields, or the one that the
 * operation itself requires. Undefined for any other fault.
 */
export const findMissingInput = (
  { input: schema }: Pick<Declaration, 'input'>,
  input: object,
  error?: ShoalError,
): MissingInput | undefined => {
  const lacks = (name: unknown): name is string =>
    typeof name === 'string' && name in schema.shape && !Object.hasOwn(input, name)
  const { error: fault } = schema.safeParse(input)
  if (fault === undefined) {
    const param = error?.code === 'invalid_request' ? error.param : undefined
    return lacks(param) ? toMissing(schema, [param]) : undefined
  }
  const names = fault.issues.map(({ path }) => (path.length === 1 ? path[0] : undefined))
  return names.every(lacks) ? toMissing(schema, [...new Set(names)]) : undefined
}

const toMissing = (schema: Declaration['input'], names: string[]): MissingInput => {
  const { properties = {} } = jsonSchema(schema) as { properties?: Record<string, JsonSchema> }
  return {
    names,
    schema: {
      type: 'object',
      properties: Object.fromEntries(names.map(name => [name, properties[name] ?? {}])),
      required: names,
    },
  }
}
