import * as z from 'zod'
import { TARGET } from './target.ts'

/** What operators may look at on this cell. */
export const ProbesConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe('Whether operators may ask this cell for host probes.'),
  allowed_targets: z
    .array(z.string().regex(TARGET))
    .max(256)
    .default([])
    .describe(
      'Whom inet-checksite and inet-latency may ask: names, addresses, networks (192.0.2.0/24), ' +
        'each with :port where it is not that of http or https. Nobody when empty.',
    ),
})
export type ProbesConfig = z.infer<typeof ProbesConfig>
