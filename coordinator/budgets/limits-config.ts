import * as z from 'zod'

const MIB = 1024 * 1024

/** Bounds on what one client, cell or address can hold; see docs/limits.md. */
export const LimitsConfig = z.strictObject({
  held_bytes: z
    .int()
    .min(MIB)
    .default(256 * MIB)
    .describe('Memory for answers that are not whole yet, or that clients have not read yet.'),
  body_bytes: z
    .int()
    .min(MIB)
    .default(128 * MIB)
    .describe('Memory for request bodies, until a cell has begun to answer.'),
})
export type LimitsConfig = z.output<typeof LimitsConfig>
