import * as z from 'zod'

/** Retention of the audit. */
export const AuditConfig = z.strictObject({
  retention_days: z
    .int()
    .min(183)
    .default(400)
    .describe(
      'Minimum retention of audit rows; less than six months is refused. Rows are purged a week later.',
    ),
})
