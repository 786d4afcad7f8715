import * as z from 'zod'
import { TARGET_PATTERN } from './target.ts'

/** Probes that operators may run on this cell. */
export const ProbesConfig = z.strictObject({
  enabled: z.boolean().default(true).describe('Allow operators to run host probes on this cell.'),
  allowed_targets: z
    .array(z.string().regex(TARGET_PATTERN))
    .max(256)
    .default([])
    .describe(
      'Targets that inet-checksite and inet-latency may contact: names, addresses, networks ' +
        '(192.0.2.0/24), with :port unless it is the one of http or https. None when empty.',
    ),
})
export type ProbesConfig = z.infer<typeof ProbesConfig>
