import * as z from 'zod'

/** Delivery of events to webhooks. */
export const WebhooksConfig = z.strictObject({
  max_per_tenant: z
    .int()
    .min(0)
    .max(10_000)
    .default(50)
    .describe('Webhooks that a tenant may have; 0: none.'),
  max_attempts: z.int().min(1).max(20).default(5).describe('Attempts to deliver an event.'),
  retry_first_seconds: z
    .number()
    .positive()
    .max(3600)
    .default(10)
    .describe('Delay after the first failed attempt; each further one is four times as long.'),
  disable_after: z
    .int()
    .min(1)
    .max(1000)
    .default(5)
    .describe('Number of consecutive failed events after which a webhook is disabled.'),
  max_pending: z
    .int()
    .min(1)
    .max(100_000)
    .default(1000)
    .describe(
      'Events that may wait for one webhook. One more disables it, or slows it while its address takes events: then ten times as many may wait.',
    ),
})
export type WebhooksConfig = z.output<typeof WebhooksConfig>
