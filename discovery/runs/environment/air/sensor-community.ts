import * as z from 'zod'
import {
  cutDecimals,
  distanceKm,
  Latitude,
  Longitude,
  type Place,
} from '../../../fields/coordinates.ts'
import { round } from '../../../fields/round.ts'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type { Station } from '../../../modules/environment/air-quality.ts'
import sensorCommunity from '../../../upstreams/sources/sensor-community.ts'

const Numeric = z.coerce.number()

/** One reading of a sensor; all numbers are texts, and times are UTC without a zone. */
const Reading = z.object({
  timestamp: z.string().max(40),
  location: z.object({
    latitude: Numeric.pipe(Latitude),
    longitude: Numeric.pipe(Longitude),
    indoor: Numeric.nullish(),
  }),
  sensor: z.object({ id: z.number() }),
  sensordatavalues: z
    .array(z.object({ value_type: z.string().max(40), value: z.union([z.string(), z.number()]) }))
    .max(100),
})
type Reading = z.output<typeof Reading>

interface Quantity {
  name: string
  min: number
  max: number
  factor?: number
}

/** Quantities with what is plausible; a broken sensor reports extremes. Pressure comes in Pa. */
const QUANTITIES: Readonly<Record<string, Quantity>> = {
  P0: { name: 'pm1_ug_m3', min: 0, max: 1000 },
  P1: { name: 'pm10_ug_m3', min: 0, max: 1000 },
  P2: { name: 'pm2_5_ug_m3', min: 0, max: 1000 },
  temperature: { name: 'temperature_c', min: -50, max: 60 },
  humidity: { name: 'humidity_percent', min: 1.001, max: 100 },
  pressure: { name: 'pressure_hpa', min: 300, max: 1100, factor: 0.01 },
  pressure_at_sealevel: { name: 'pressure_at_sea_level_hpa', min: 850, max: 1100, factor: 0.01 },
}

const MAX_READINGS = 20_000

/** Readings of the last five minutes outdoors, the newest of each sensor. */
export const askSensorCommunity = async (
  place: Place,
  radiusKm: number,
  { ask, warn }: LookupContext,
): Promise<Station[]> => {
  const area = [cutDecimals(place.lat, 4), cutDecimals(place.lon, 4), radiusKm].join(',')
  const { body } = await ask({
    source: sensorCommunity,
    path: `/airrohr/v1/filter/area=${area}`,
    form: 'json',
    reading: {
      reader: { module: import.meta.url, name: 'readSensors' },
      limits: { maxValues: 400_000 },
    },
  })
  const { readings, unparsed } = body as ReturnType<typeof readSensors>
  if (unparsed > 0)
    warn('unparsed_record', 'readings without the known fields are skipped', sensorCommunity.name)
  return readings.flatMap(reading => stationOf(place, reading) ?? [])
}

/** Reads an answer, which may have many megabytes, off the event loop. */
export const readSensors = (body: unknown): { readings: Reading[]; unparsed: number } => {
  const entries = z.array(z.unknown()).parse(body).slice(0, MAX_READINGS)
  const readings = entries.flatMap(entry => Reading.safeParse(entry).data ?? [])
  const newest = new Map<number, Reading>()
  for (const reading of readings.toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1)))
    if (reading.location.indoor !== 1) newest.set(reading.sensor.id, reading)
  return { readings: [...newest.values()], unparsed: entries.length - readings.length }
}

const stationOf = (place: Place, reading: Reading): Station | undefined => {
  const { latitude: lat, longitude: lon } = reading.location
  const at = readUtcTime(reading.timestamp)
  const readings = readValues(reading)
  if (at === null || Object.keys(readings).length === 0) return undefined
  return {
    id: String(reading.sensor.id),
    network: sensorCommunity.name,
    name: null,
    lat,
    lon,
    distance_km: round(distanceKm(place, { lat, lon }), 2),
    low_cost: true,
    readings,
    at,
  }
}

const readValues = ({ sensordatavalues }: Reading): Record<string, number> =>
  Object.fromEntries(
    sensordatavalues.flatMap(({ value_type, value }) => {
      const quantity = QUANTITIES[value_type]
      if (quantity === undefined || value === '') return []
      const number = Number(value) * (quantity.factor ?? 1)
      const isPlausible = number >= quantity.min && number <= quantity.max
      return isPlausible ? [[quantity.name, round(number, 2)] as const] : []
    }),
  )
