import * as z from 'zod'

const MIB = 1024 * 1024

/** A size such as 256MiB is not understood, so the error says the unit. */
const Bytes = z
  .int({ error: 'must be a whole number, in bytes' })
  .min(MIB)
  .max(1024 * 1024 * MIB)

/** Bounds on what one client, cell or address can hold; see docs/limits.md. */
export const LimitsConfig = z.strictObject({
  held_bytes: Bytes.default(256 * MIB).describe(
    'Memory for answers that are not whole yet, or that clients have not read yet.',
  ),
  body_bytes: Bytes.default(128 * MIB).describe(
    'Memory for request bodies, until their answers begin.',
  ),
  connections: z
    .int()
    .min(16)
    .max(1_000_000)
    .default(8192)
    .describe(
      'Connections of HTTP clients; at most three quarters of the descriptors of the process.',
    ),
  connections_per_address: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(1024)
    .describe(
      'Connections of one address (IPv6: one /64); at most three quarters of all. A reverse proxy has one address.',
    ),
  send_timeout_seconds: z
    .number()
    .min(1)
    .max(86_400)
    .default(120)
    .describe('Time in which a client must take 16 KiB of an answer, or all of it.'),
  anonymous_per_minute: z
    .int()
    .min(1)
    .default(600)
    .describe(
      'Requests without a valid key from one address (IPv6: one /64), refused ones included.',
    ),
})
export type LimitsConfig = z.output<typeof LimitsConfig>
