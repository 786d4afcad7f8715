import * as z from 'zod'
import type { TierName } from '../../../shared/catalogue.ts'

const MonthLimit = z
  .union([z.int().nonnegative(), z.literal('unlimited')])
  .describe('Inference requests per calendar month, UTC.')
const MinuteLimit = z.int().positive().max(100_000).describe('Requests started in any 60 seconds.')

interface Values {
  requests_per_month: number | 'unlimited'
  requests_per_minute: number
  max_tokens: number
  price_eur_per_month: number
}

const tier = (values: Values) =>
  z
    .strictObject({
      requests_per_month: MonthLimit.default(values.requests_per_month),
      requests_per_minute: MinuteLimit.default(values.requests_per_minute),
      max_tokens: z
        .int()
        .positive()
        .default(values.max_tokens)
        .describe('Largest number of tokens one request may generate.'),
      price_eur_per_month: z
        .number()
        .nonnegative()
        .default(values.price_eur_per_month)
        .describe('Price that GET /v1/tiers returns.'),
    })
    .prefault({})

/** The tiers as a configuration key. Defaults: interface specification, section 8. */
export const Tiers = z
  .strictObject({
    free: tier({
      requests_per_month: 1000,
      requests_per_minute: 10,
      max_tokens: 2048,
      price_eur_per_month: 0,
    }),
    pro: tier({
      requests_per_month: 50_000,
      requests_per_minute: 100,
      max_tokens: 8192,
      price_eur_per_month: 29,
    }),
    enterprise: tier({
      requests_per_month: 'unlimited',
      requests_per_minute: 500,
      max_tokens: 128_000,
      price_eur_per_month: 149,
    }),
    anonymous: z
      .strictObject({
        requests_per_month: MonthLimit.default(1000),
        requests_per_minute: MinuteLimit.default(30),
      })
      .prefault({})
      .describe('What one address may use without a key.'),
  })
  .prefault({})
export type TierSettings = z.infer<typeof Tiers>

/** Allowance of a subject: of its key's tier, or of an address without a key. */
export type AllowanceName = TierName | 'anonymous'
