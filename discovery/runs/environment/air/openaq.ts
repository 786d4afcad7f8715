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
import {
  POLLUTANTS,
  type Pollutant,
  type Station,
} from '../../../modules/environment/air-quality.ts'
import openaq from '../../../upstreams/sources/openaq.ts'
import { toMicrograms } from './concentration.ts'

const Location = z.object({
  id: z.number(),
  name: z.string().nullish(),
  isMonitor: z.boolean().nullish(),
  sensors: z
    .array(
      z.object({ id: z.number(), parameter: z.object({ name: z.string(), units: z.string() }) }),
    )
    .max(200),
  coordinates: z.object({ latitude: Latitude, longitude: Longitude }),
  datetimeLast: z.object({ utc: z.string() }).nullish(),
})
type Location = z.output<typeof Location>
const Locations = z.object({ results: z.array(Location).max(1000) })

const Latest = z.object({
  results: z
    .array(
      z.object({
        datetime: z.object({ utc: z.string() }),
        value: z.number(),
        sensorsId: z.number(),
      }),
    )
    .max(1000),
})

const MAX_RADIUS_KM = 25
/** Stations whose readings are asked for, each with a request. */
const MAX_STATIONS = 10
/** Older stations are listed for ever. */
const MAX_AGE_MS = 6 * 3_600_000

/** Public stations with readings of the last hours (https://docs.openaq.org). */
export const askOpenaq = async (
  place: Place,
  radiusKm: number,
  context: LookupContext,
): Promise<Station[]> => {
  const { ask, warn, now } = context
  if (radiusKm > MAX_RADIUS_KM)
    warn('partial_result', `OpenAQ is asked for ${MAX_RADIUS_KM} km, its largest`, openaq.name)
  const { body } = await ask({
    source: openaq,
    path: '/locations',
    query: {
      coordinates: `${cutDecimals(place.lat, 4)},${cutDecimals(place.lon, 4)}`,
      radius: Math.round(Math.min(radiusKm, MAX_RADIUS_KM) * 1000),
      limit: 100,
    },
    form: 'json',
  })
  const live = Locations.parse(body)
    .results.filter(({ datetimeLast }) => isRecent(datetimeLast?.utc, now()))
    .map(location => ({ location, km: distanceKm(place, placeOf(location)) }))
    .toSorted((a, b) => a.km - b.km)
    .slice(0, MAX_STATIONS)
  const stations = await Promise.all(
    live.map(({ location, km }) => askStation(location, km, context)),
  )
  return stations.flatMap(station => station ?? [])
}

const isRecent = (time: string | undefined, now: number): boolean =>
  time !== undefined && now - Date.parse(time) < MAX_AGE_MS

const placeOf = ({ coordinates }: Location): Place => ({
  lat: coordinates.latitude,
  lon: coordinates.longitude,
})

const askStation = async (
  location: Location,
  km: number,
  { ask, now }: LookupContext,
): Promise<Station | undefined> => {
  const path = `/locations/${location.id}/latest`
  const { body } = await ask({ source: openaq, path, form: 'json' })
  const latest = Latest.parse(body).results.filter(({ datetime }) => isRecent(datetime.utc, now()))
  const readings = Object.fromEntries(
    latest.flatMap(({ sensorsId, value }) => readValue(location, sensorsId, value)),
  )
  const times = latest.flatMap(({ datetime }) => readUtcTime(datetime.utc) ?? []).toSorted()
  const at = times.at(-1)
  if (at === undefined || Object.keys(readings).length === 0) return undefined
  return {
    id: String(location.id),
    network: openaq.name,
    name: location.name?.slice(0, 200) ?? null,
    ...placeOf(location),
    distance_km: round(km, 2),
    low_cost: location.isMonitor === false,
    readings,
    at,
  }
}

const readValue = (
  { sensors }: Location,
  sensorId: number,
  value: number,
): (readonly [string, number])[] => {
  const parameter = sensors.find(({ id }) => id === sensorId)?.parameter
  const name = parameter?.name === 'pm25' ? 'pm2_5' : parameter?.name
  const pollutant = POLLUTANTS.find(each => each === name) as Pollutant | undefined
  if (parameter === undefined || pollutant === undefined || value < 0) return []
  const micrograms = toMicrograms(pollutant, value, parameter.units)
  return micrograms === undefined ? [] : [[`${pollutant}_ug_m3`, round(micrograms, 2)]]
}
