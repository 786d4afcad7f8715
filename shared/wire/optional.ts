import type * as z from 'zod'

/**
 * A field that may be null or not there. zod's own `exactOptional` tries the type on every field
 * that is not there and throws its findings away; for the thirty such fields of a request that
 * costs more than all the rest of the check. JSON knows no undefined that had to be told from it.
 */
export const optional = <T extends z.ZodType>(type: T): z.ZodExactOptional<z.ZodNullable<T>> =>
  type.nullable().optional() as unknown as z.ZodExactOptional<z.ZodNullable<T>>
