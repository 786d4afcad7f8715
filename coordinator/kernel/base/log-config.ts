import * as z from 'zod'

/** Settings of the log. */
export const LogConfig = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest level written to standard output, as JSON lines.'),
})
