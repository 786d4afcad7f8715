import * as z from 'zod'
import { cutDecimals, type Place } from '../../../fields/coordinates.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type {
  WeatherForecast,
  WeatherPoint,
} from '../../../modules/environment/weather-forecast.ts'
import metno from '../../../upstreams/sources/metno.ts'
import { conditionOfSymbol } from './condition.ts'
import { findCurrent, summarizeDays } from './days.ts'

const Next = z.object({
  summary: z.object({ symbol_code: z.string().optional() }).optional(),
  details: z
    .object({
      precipitation_amount: z.number().optional(),
      probability_of_precipitation: z.number().optional(),
    })
    .optional(),
})

const Entry = z.object({
  time: z.iso.datetime(),
  data: z.object({
    instant: z.object({
      details: z.object({
        air_temperature: z.number().optional(),
        air_pressure_at_sea_level: z.number().optional(),
        cloud_area_fraction: z.number().optional(),
        relative_humidity: z.number().optional(),
        wind_from_direction: z.number().optional(),
        wind_speed: z.number().optional(),
        wind_speed_of_gust: z.number().optional(),
      }),
    }),
    next_1_hours: Next.optional(),
    next_6_hours: Next.optional(),
  }),
})

/** GeoJSON: longitude, latitude, altitude (RFC 7946, 3.1.1). */
const Forecast = z.object({
  geometry: z.object({ coordinates: z.array(z.number()) }).optional(),
  properties: z.object({
    meta: z.object({ updated_at: z.iso.datetime().optional() }),
    timeseries: z.array(Entry).max(2000),
  }),
})

/** Status of a product that is deprecated or in beta (https://api.met.no/doc/StatusCodes). */
const DEPRECATED = 203
const MAX_POINTS = 400

/** Locationforecast 2.0 (https://api.met.no/weatherapi/locationforecast/2.0/documentation). */
export const askMetno = async (
  place: Place,
  { ask, warn, now }: LookupContext,
): Promise<WeatherForecast> => {
  const { status, body } = await ask({
    source: metno,
    path: '/locationforecast/2.0/complete',
    // more decimals are refused
    query: { lat: cutDecimals(place.lat, 4), lon: cutDecimals(place.lon, 4) },
    form: 'json',
  })
  if (status === DEPRECATED)
    warn('partial_result', 'the product of MET Norway is deprecated or in beta', metno.name)
  const { geometry, properties } = Forecast.parse(body)
  const hourly = properties.timeseries.slice(0, MAX_POINTS).map(pointOf)
  return {
    ...place,
    elevation_m: geometry?.coordinates[2] ?? null,
    model_updated_at: properties.meta.updated_at ?? null,
    current: findCurrent(hourly, now()),
    hourly,
    daily: summarizeDays(hourly, place),
  }
}

const pointOf = ({ time, data }: z.output<typeof Entry>): WeatherPoint => {
  const { details } = data.instant
  const next = data.next_1_hours ?? data.next_6_hours
  return {
    time,
    step_h: data.next_1_hours === undefined ? 6 : 1,
    temperature_c: details.air_temperature ?? null,
    humidity_percent: details.relative_humidity ?? null,
    pressure_hpa: details.air_pressure_at_sea_level ?? null,
    cloud_cover_percent: details.cloud_area_fraction ?? null,
    wind_speed_m_s: details.wind_speed ?? null,
    wind_gust_m_s: details.wind_speed_of_gust ?? null,
    wind_direction_deg: details.wind_from_direction ?? null,
    precipitation_mm: next?.details?.precipitation_amount ?? null,
    precipitation_probability_percent: next?.details?.probability_of_precipitation ?? null,
    condition: conditionOfSymbol(next?.summary?.symbol_code),
  }
}
