import * as z from 'zod'
import type { Place } from '../../../fields/coordinates.ts'
import { roundOrNull } from '../../../fields/round.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type {
  WeatherForecast,
  WeatherPoint,
} from '../../../modules/environment/weather-forecast.ts'
import brightsky from '../../../upstreams/sources/brightsky.ts'
import { conditionOfIcon } from './condition.ts'
import { findCurrent, summarizeDays } from './days.ts'

const Value = z.number().nullish()

const Hour = z.object({
  timestamp: z.iso.datetime({ offset: true }),
  temperature: Value,
  relative_humidity: Value,
  pressure_msl: Value,
  cloud_cover: Value,
  wind_speed: Value.describe('km/h'),
  wind_gust_speed: Value.describe('km/h'),
  wind_direction: Value,
  precipitation: Value,
  precipitation_probability: Value,
  solar: Value.describe('kWh/m², horizontal, in the hour before'),
  icon: z.string().nullish(),
})
type BrightskyHour = z.output<typeof Hour>

const Weather = z.object({ weather: z.array(Hour).max(500) })

const DAYS = 7
const DAY_MS = 86_400_000
const KMH_PER_M_S = 3.6

/** True where Bright Sky has data: Germany and what is near. */
export const isNearGermany = ({ lat, lon }: Place): boolean =>
  lat > 46 && lat < 56 && lon > 5 && lon < 16

/** Weather of the coming days (https://brightsky.dev/docs), times in UTC. */
export const askBrightskyHours = async (
  { lat, lon }: Place,
  { ask, now }: Pick<LookupContext, 'ask' | 'now'>,
): Promise<BrightskyHour[]> => {
  const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
  const query = {
    ...{ lat, lon, tz: 'UTC', units: 'dwd' },
    date: dateOf(now()),
    last_date: dateOf(now() + DAYS * DAY_MS),
  }
  const { body } = await ask({ source: brightsky, path: '/weather', query, form: 'json' })
  return Weather.parse(body).weather
}

export const askBrightsky = async (
  place: Place,
  context: LookupContext,
): Promise<WeatherForecast> => {
  const hourly = (await askBrightskyHours(place, context)).slice(0, 400).map(pointOf)
  return {
    ...place,
    elevation_m: null,
    model_updated_at: null,
    current: findCurrent(hourly, context.now()),
    hourly,
    daily: summarizeDays(hourly, place),
  }
}

const pointOf = (hour: BrightskyHour): WeatherPoint => ({
  time: new Date(hour.timestamp).toISOString(),
  step_h: 1,
  temperature_c: hour.temperature ?? null,
  humidity_percent: hour.relative_humidity ?? null,
  pressure_hpa: hour.pressure_msl ?? null,
  cloud_cover_percent: hour.cloud_cover ?? null,
  wind_speed_m_s: metresPerSecond(hour.wind_speed),
  wind_gust_m_s: metresPerSecond(hour.wind_gust_speed),
  wind_direction_deg: hour.wind_direction ?? null,
  precipitation_mm: hour.precipitation ?? null,
  precipitation_probability_percent: hour.precipitation_probability ?? null,
  condition: conditionOfIcon(hour.icon),
})

const metresPerSecond = (kmh: number | null | undefined): number | null =>
  roundOrNull(kmh == null ? kmh : kmh / KMH_PER_M_S, 2)
