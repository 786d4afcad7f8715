import * as z from 'zod'
import { type Catalogue, TIER_NAMES } from '../../../../../shared/catalogue.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { QuotaViews } from '../../open.ts'
import { modelsOfTier } from '../../tier-models.ts'

const MonthLimit = z.union([z.int(), z.literal('unlimited')])

/** Models that the tiers include. */
interface CatalogueViews {
  catalogue: Catalogue
}

export default defineOperation({
  id: 'tiers-list',
  description: 'List the tiers with their limits and prices.',
  method: 'GET',
  path: '/v1/tiers',
  // people without a key must be able to choose
  access: 'none',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    tiers: z.array(
      z.object({
        id: z.enum(TIER_NAMES),
        requests_per_month: MonthLimit.describe('Inference requests per calendar month, UTC.'),
        requests_per_minute: z.int().describe('Requests that may be started in any 60 seconds.'),
        max_tokens: z.int().describe('Largest number of tokens one request may generate.'),
        price_eur_per_month: z.number(),
        models: z.array(z.string()),
      }),
    ),
    anonymous: z
      .object({ requests_per_month: MonthLimit, requests_per_minute: z.int() })
      .describe('Limits of one address without a key.'),
  }),
  run: (_input, { tiers, catalogue }: CatalogueViews & QuotaViews) => ({
    tiers: TIER_NAMES.map(id => ({
      id,
      ...tiers[id],
      models: modelsOfTier(catalogue, id).map(entry => entry.id),
    })),
    anonymous: tiers.anonymous,
  }),
})
