import * as z from 'zod'
import { Latitude, Longitude, placeInput } from '../../fields/coordinates.ts'
import { defineLookup } from '../../module.ts'

export const POLLUTANTS = ['pm1', 'pm2_5', 'pm10', 'no2', 'o3', 'so2', 'co'] as const
export type Pollutant = (typeof POLLUTANTS)[number]

const Station = z.strictObject({
  id: z.string().max(64),
  network: z.string().max(64),
  name: z.string().max(200).nullable(),
  lat: Latitude,
  lon: Longitude,
  distance_km: z.number().min(0),
  low_cost: z.boolean().describe('A private sensor, less exact than a public station.'),
  readings: z
    .record(z.string().max(40), z.number())
    .describe('By name with unit: `pm2_5_ug_m3`, `temperature_c`, `humidity_percent`.'),
  at: z.iso.datetime(),
})
export type Station = z.output<typeof Station>

const AirQuality = z.strictObject({
  lat: Latitude,
  lon: Longitude,
  radius_km: z.number(),
  index: z
    .strictObject({
      scheme: z.enum(['european_aqi', 'us_aqi']),
      value: z.number(),
      category: z.enum(['good', 'fair', 'moderate', 'poor', 'very_poor', 'extremely_poor']),
    })
    .nullable(),
  pollutants: z
    .array(
      z.strictObject({
        pollutant: z.enum(POLLUTANTS),
        value_ug_m3: z.number(),
        method: z.enum(['measured_median', 'modelled']),
        stations: z.int().min(0),
        at: z.iso.datetime(),
      }),
    )
    .max(14),
  stations: z.array(Station).max(200).describe('The nearest ones first.'),
})
export type AirQuality = z.output<typeof AirQuality>

const input = z.strictObject({
  ...placeInput,
  radius_km: z.number().positive().max(100).default(10).describe('Stations within this distance.'),
})
export type AirInput = z.output<typeof input>

export default defineLookup({
  id: 'air-quality',
  name: 'Air quality',
  description: 'Read the air quality at a place, measured by stations nearby and modelled.',
  tags: ['environment', 'air'],
  access: 'key',
  reach: 'internet',
  input,
  examples: [{ lat: 48.1, lon: 11.5, radius_km: 10 }],
  deadlineSeconds: 45,
  data: AirQuality,
})
