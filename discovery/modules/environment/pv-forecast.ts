import * as z from 'zod'
import { Latitude, Longitude, placeInput } from '../../fields/coordinates.ts'
import { defineLookup } from '../../module.ts'

const PvStep = z.strictObject({
  start: z.iso.datetime(),
  end: z.iso.datetime(),
  power_kw: z.number().min(0).describe('Mean of the span.'),
  energy_kwh: z.number().min(0),
})
export type PvStep = z.output<typeof PvStep>

const PvDay = z.strictObject({
  date: z.iso.date(),
  energy_kwh: z.number().min(0),
  peak_power_kw: z.number().min(0),
  peak_at: z.iso.datetime().nullable(),
})
export type PvDay = z.output<typeof PvDay>

const PvForecast = z.strictObject({
  lat: Latitude,
  lon: Longitude,
  peak_power_kw: z.number(),
  tilt_deg: z.number(),
  azimuth_deg: z.number().describe('0 is south, -90 east, 90 west.'),
  method: z
    .enum(['provider', 'irradiance_model', 'typical_year', 'clear_sky'])
    .describe('`typical_year` and `clear_sky` ignore the weather forecast.'),
  timezone: z.string().max(64).describe('Zone of the days.'),
  series: z.array(PvStep).max(1000),
  days: z.array(PvDay).max(20),
  remaining_today_kwh: z.number().min(0),
})
export type PvForecast = z.output<typeof PvForecast>

const input = z.strictObject({
  ...placeInput,
  peak_power_kw: z.number().positive().max(1_000_000).default(10).describe('Rated power, kWp.'),
})
export type PvInput = z.output<typeof input>

export default defineLookup({
  id: 'pv-forecast',
  name: 'Solar power forecast',
  description: 'Forecast the yield of solar panels at a place for today and the next days.',
  tags: ['environment', 'energy', 'solar'],
  access: 'key',
  reach: 'internet',
  input,
  examples: [{ lat: 48.1, lon: 11.5, peak_power_kw: 10 }],
  deadlineSeconds: 60,
  data: PvForecast,
})
