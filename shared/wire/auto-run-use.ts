import * as z from 'zod'

/** Part of the hourly budget of a cell that scheduled runs of modules have used. */
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
