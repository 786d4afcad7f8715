import type * as z from 'zod'

/**
 * A field that may be null or absent. zod's own `exactOptional` parses the type for every absent
 * field and discards the issues; for the thirty such fields of a request that costs more than the
 * rest of the check. JSON has no undefined that would have to be distinguished.
 */
export const optional = <T extends z.ZodType>(type: T): z.ZodExactOptional<z.ZodNullable<T>> =>
  type.nullable().optional() as unknown as z.ZodExactOptional<z.ZodNullable<T>>
