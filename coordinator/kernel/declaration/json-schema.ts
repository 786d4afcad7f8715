import * as z from 'zod'

export type JsonSchema = Record<string, unknown>

/**
 * The published form of a schema: JSON Schema 2020-12. Outputs are published as they may come in,
 * so that a strict client survives a field that is added later.
 */
export const jsonSchema = (schema: z.ZodType): JsonSchema => {
  const known = published.get(schema)
  if (known !== undefined) return known
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', override: simplifySchema })
  published.set(schema, rest)
  return rest
}

/** Schemas live as long as the process; each is turned once. */
const published = new WeakMap<z.ZodType, JsonSchema>()

/**
 * A tuple is closed by its length: many readers know no schema that is a bare `false`.
 *
 * The bounds of safe integers, and the pattern beside a format, tell a reader nothing. A secret is
 * `writeOnly`, as JSON Schema (validation, section 9.4) has it.
 */
const simplifySchema = ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void => {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.prefixItems !== undefined && jsonSchema.items === false) {
    delete jsonSchema.items
    jsonSchema.maxItems = jsonSchema.prefixItems.length
  }
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  if (jsonSchema.secret === true) {
    delete jsonSchema.secret
    jsonSchema.writeOnly = true
  }
}
