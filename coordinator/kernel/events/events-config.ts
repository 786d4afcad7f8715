import * as z from 'zod'

/** Retention and streaming of events. */
export const EventsConfig = z.strictObject({
  kept: z
    .int()
    .min(10)
    .max(100_000)
    .default(1000)
    .describe('Number of newest events kept for readers that reconnect.'),
  max_streams: z.int().min(1).max(100_000).default(1000).describe('Concurrent streams of events.'),
  max_streams_per_key: z.int().min(1).max(1000).default(10).describe('Of these, with one key.'),
  heartbeat_seconds: z
    .number()
    .min(1)
    .max(300)
    .default(15)
    .describe('Interval of keep-alive comments on an idle stream.'),
  stall_seconds: z
    .number()
    .positive()
    .max(300)
    .default(30)
    .describe('A reader that reads nothing for this time is disconnected.'),
})
export type EventsConfig = z.output<typeof EventsConfig>
