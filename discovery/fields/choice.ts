import * as z from 'zod'

/**
 * A text that must be one of some values. The published schema says text, as the interface
 * specification has it, and the error lists the values.
 */
export const createChoice = <T extends string>(values: readonly T[]): z.ZodType<T, T> =>
  z
    .string()
    .max(64)
    .refine(text => values.some(value => value === text), `must be one of ${values.join(', ')}`)
    .meta({ examples: [...values].slice(0, 3) }) as unknown as z.ZodType<T, T>
