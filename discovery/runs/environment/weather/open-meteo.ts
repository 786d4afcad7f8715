import * as z from 'zod'
import type { Place } from '../../../fields/coordinates.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type {
  WeatherForecast,
  WeatherPoint,
} from '../../../modules/environment/weather-forecast.ts'
import openMeteo from '../../../upstreams/sources/open-meteo.ts'
import { conditionOfCode } from './condition.ts'
import { findCurrent, summarizeDays } from './days.ts'

const Column = z.array(z.number().nullable()).max(500).optional()

const HOURLY = {
  temperature_2m: Column,
  relative_humidity_2m: Column,
  pressure_msl: Column,
  precipitation: Column,
  precipitation_probability: Column,
  weather_code: Column,
  cloud_cover: Column,
  wind_speed_10m: Column,
  wind_gusts_10m: Column,
  wind_direction_10m: Column,
}

const Forecast = z.object({
  elevation: z.number().nullish(),
  hourly: z.object({ time: z.array(z.number()).max(500), ...HOURLY }),
})
type Hourly = z.output<typeof Forecast>['hourly']

/** Forecast API (https://open-meteo.com/en/docs), in SI units and Unix time. */
export const askOpenMeteo = async (
  place: Place,
  { ask, now }: LookupContext,
): Promise<WeatherForecast> => {
  const { body } = await ask({
    source: openMeteo,
    path: '/v1/forecast',
    query: {
      latitude: place.lat,
      longitude: place.lon,
      hourly: Object.keys(HOURLY).join(','),
      timezone: 'UTC',
      timeformat: 'unixtime',
      wind_speed_unit: 'ms',
      forecast_days: 7,
    },
    form: 'json',
  })
  const { elevation, hourly: columns } = Forecast.parse(body)
  const hourly = columns.time.slice(0, 400).map((at, index) => pointOf(columns, at, index))
  return {
    ...place,
    elevation_m: elevation ?? null,
    model_updated_at: null,
    current: findCurrent(hourly, now()),
    hourly,
    daily: summarizeDays(hourly, place),
  }
}

const pointOf = (columns: Hourly, at: number, index: number): WeatherPoint => {
  const read = (name: keyof typeof HOURLY): number | null => columns[name]?.[index] ?? null
  return {
    time: new Date(at * 1000).toISOString(),
    step_h: 1,
    temperature_c: read('temperature_2m'),
    humidity_percent: read('relative_humidity_2m'),
    pressure_hpa: read('pressure_msl'),
    cloud_cover_percent: read('cloud_cover'),
    wind_speed_m_s: read('wind_speed_10m'),
    wind_gust_m_s: read('wind_gusts_10m'),
    wind_direction_deg: read('wind_direction_10m'),
    precipitation_mm: read('precipitation'),
    precipitation_probability_percent: read('precipitation_probability'),
    condition: conditionOfCode(read('weather_code')),
  }
}
