import * as z from 'zod'

/** What modules that run by themselves have used of the hourly budget of their cell. */
export const AutoRunUse = z.object({
  findings: z.int().nonnegative(),
  max_findings: z.int().nonnegative(),
  /** Time in which modules contacted other machines or used a radio, whole seconds. */
  active_seconds: z.int().nonnegative(),
  max_active_seconds: z.int().nonnegative(),
  /** End of the hour, Unix milliseconds; on the wire by the clock of the cell. */
  ends_at: z.int().nonnegative(),
})
export type AutoRunUse = z.infer<typeof AutoRunUse>
