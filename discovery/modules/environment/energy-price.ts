import * as z from 'zod'
import { defineLookup } from '../../module.ts'

/** Bidding zones of the European day-ahead market, as Energy-Charts names them. */
export const ZONES = [
  ...[
    'AT',
    'BE',
    'BG',
    'CH',
    'CZ',
    'DE-LU',
    'DE-AT-LU',
    'DK1',
    'DK2',
    'EE',
    'ES',
    'FI',
    'FR',
    'GR',
  ],
  ...['HR', 'HU', 'IT-Calabria', 'IT-Centre-North', 'IT-Centre-South', 'IT-North', 'IT-SACOAC'],
  ...['IT-SACODC', 'IT-Sardinia', 'IT-Sicily', 'IT-South', 'LT', 'LV', 'ME', 'NL', 'NO1', 'NO2'],
  ...[
    'NO2NSL',
    'NO3',
    'NO4',
    'NO5',
    'PL',
    'PT',
    'RO',
    'RS',
    'SE1',
    'SE2',
    'SE3',
    'SE4',
    'SI',
    'SK',
  ],
] as const
export type Zone = (typeof ZONES)[number]

const span = { start: z.iso.datetime(), end: z.iso.datetime() }

const Slot = z.strictObject({
  ...span,
  eur_mwh: z.number().describe('May be negative.'),
  ct_kwh: z.number(),
})
export type PriceSlot = z.output<typeof Slot>

const EnergyPrice = z.strictObject({
  zone: z.enum(ZONES),
  currency: z.literal('EUR'),
  resolution_minutes: z.union([z.literal(15), z.literal(30), z.literal(60)]),
  prices: z.array(Slot).max(400).describe('Today and, once published, tomorrow.'),
  current: Slot.nullable(),
  stats: z
    .strictObject({
      min_eur_mwh: z.number(),
      max_eur_mwh: z.number(),
      mean_eur_mwh: z.number(),
      negative_slots: z.int().min(0),
    })
    .nullable(),
  cheapest: z
    .array(z.strictObject({ ...span, mean_eur_mwh: z.number(), hours: z.int().positive() }))
    .max(3)
    .describe('Cheapest 1, 3 and 6 hours ahead.'),
  tomorrow_available: z.boolean(),
  net_of: z.literal('taxes_and_grid_fees'),
})
export type EnergyPrice = z.output<typeof EnergyPrice>

const input = z.strictObject({
  zone: z
    .string()
    .max(32)
    .default('DE-LU')
    .describe('Bidding zone of the day-ahead market: `DE-LU`, `AT`, `FR`, `IT-North`, `SE3`.'),
})
export type PriceInput = z.output<typeof input>

export default defineLookup({
  id: 'energy-price',
  name: 'Electricity price',
  description: 'Read the day-ahead electricity prices of a bidding zone and its cheapest hours.',
  tags: ['environment', 'energy', 'market'],
  access: 'key',
  reach: 'internet',
  input,
  examples: [{ zone: 'DE-LU' }, {}],
  deadlineSeconds: 60,
  data: EnergyPrice,
})
