import * as z from 'zod'

/** Times after which a silent cell is suspect or dead. */
export const PresenceConfig = z.strictObject({
  suspect_after_seconds: z
    .number()
    .positive()
    .default(7.5)
    .describe('Silence after which a cell receives no more requests.'),
  dead_after_seconds: z
    .number()
    .positive()
    .default(12)
    .describe('Silence after which a cell is considered dead.'),
  ping_seconds: z
    .number()
    .positive()
    .default(5)
    .describe('Interval of latency probes to each cell, and their timeout.'),
})
export type PresenceConfig = z.output<typeof PresenceConfig>
