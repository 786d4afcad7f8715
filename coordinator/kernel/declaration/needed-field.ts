import type * as z from 'zod'

/**
 * A field that the specification leaves optional and without which the operation cannot run. The
 * published schema keeps it optional; a call without it is refused with 422 and its name in `param`
 * (over A2A: INPUT_REQUIRED), as for a required field.
 */
export const defineNeededField = (schema: z.ZodString, description: string) =>
  schema
    .exactOptional()
    .pipe(schema)
    .describe(`${description} Calls without it are refused with 422.`)
