import * as z from 'zod'

/** Figures for business skills that are measured nowhere; see docs/business.md. */
export const BusinessConfig = z.strictObject({
  energy_price_eur_per_kwh: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe(
      'Price of electricity with taxes and fees; without it the last result of energy-price.',
    ),
})
export type BusinessConfig = z.output<typeof BusinessConfig>
