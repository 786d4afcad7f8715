import * as z from 'zod'

/** Settings of the metrics. */
export const MetricsConfig = z.strictObject({
  loopback_port: z
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe(
      'Port on 127.0.0.1 that serves /metrics without a key; 0 disables it. The main port serves it too, with an operator key.',
    ),
})
