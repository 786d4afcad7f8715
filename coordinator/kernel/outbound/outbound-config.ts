import * as z from 'zod'
import { AllowList } from '../../../shared/outbound/allow-list.ts'

/** Targets given by users that the coordinator may send to. */
export const Outbound = z.strictObject({
  allow: AllowList.describe(
    'Private targets that requests may be sent to nevertheless: `hooks.lan:443`, `10.1.0.0/16:8443`.',
  ),
  allow_http: z
    .boolean()
    .default(false)
    .describe('Send without TLS to targets of `outbound.allow`; never to any other.'),
  connect_seconds: z
    .number()
    .positive()
    .max(60)
    .default(5)
    .describe('Longest time to resolve a name, and again to connect with TLS.'),
  answer_seconds: z
    .number()
    .positive()
    .max(300)
    .default(10)
    .describe('Longest time until the target begins to answer, and again until its answer ended.'),
  target_concurrency: z
    .int()
    .min(1)
    .max(100)
    .default(4)
    .describe('Concurrent requests to one host and port.'),
  target_per_minute: z
    .int()
    .min(1)
    .max(100_000)
    .default(600)
    .describe('Requests to one host and port in any 60 seconds.'),
})
export type Outbound = z.output<typeof Outbound>
