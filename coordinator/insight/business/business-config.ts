import * as z from 'zod'
import { ZONES } from '../../../discovery/modules/environment/energy-price.ts'

/** Figures for business skills that are measured nowhere; see docs/business.md. */
export const BusinessConfig = z.strictObject({
  energy_price_eur_per_kwh: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe('Price of electricity with taxes and fees; it goes before energy_price_zone.'),
  energy_price_zone: z
    .enum(ZONES)
    .optional()
    .describe(
      'Bidding zone whose day-ahead price, net of taxes and fees, is read when costs are analysed.',
    ),
})
export type BusinessConfig = z.output<typeof BusinessConfig>
