import * as z from 'zod'

/** Settings of the queue for a cell and of the choice of one. */
export const RoutingConfig = z.strictObject({
  queue_length: z
    .int()
    .min(0)
    .max(100_000)
    .default(256)
    .describe(
      'Requests that may wait for one model when no cell has capacity; 0 disables waiting.',
    ),
  queue_max_wait_seconds: z
    .number()
    .positive()
    .max(3600)
    .default(30)
    .describe('Longest wait for capacity on a cell.'),
  queue_restart_seconds: z
    .number()
    .nonnegative()
    .max(3600)
    .default(10)
    .describe('How long requests for a model keep waiting after its last engine has gone.'),
  affinity_prefix_chars: z
    .int()
    .min(0)
    .max(1024 * 1024)
    .default(4096)
    .describe(
      'Prompts of at least this length are routed by their first characters, to reuse cached prefixes; 0 disables this.',
    ),
})
export type RoutingConfig = z.output<typeof RoutingConfig>
