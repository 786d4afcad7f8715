import * as z from 'zod'

/** Retention of usage. */
export const UsageConfig = z
  .strictObject({
    row_days: z
      .number()
      .min(2)
      .max(3660)
      .default(35)
      .describe('Retention of records of single requests.'),
    bucket_days: z.number().min(2).max(36_600).default(400).describe('Retention of hourly totals.'),
  })
  .refine(({ row_days, bucket_days }) => row_days <= bucket_days, {
    path: ['row_days'],
    error: 'records of single requests cannot be kept longer than the hourly totals',
  })
