import * as z from 'zod'

/** Retention and streaming of events. */
export const EventsConfig = z.strictObject({
  kept: z
    .int()
    .min(10)
    .max(100_000)
    .default(1000)
    .describe('Number of newest events kept for readers that reconnect.'),
  max_streams: z.int().min(1).max(100_000).default(1000).describe('Streams of events at once.'),
  max_streams_per_key: z.int().min(1).max(1000).default(10).describe('Of these, with one key.'),
  heartbeat_seconds: z
    .number()
    .min(1)
    .max(300)
    .default(15)
    .describe('How often a stream on which nothing happens shows that it lives.'),
  stall_seconds: z
    .number()
    .positive()
    .max(300)
    .default(30)
    .describe('A reader that takes nothing for so long is cut off.'),
})
export type EventsConfig = z.output<typeof EventsConfig>
