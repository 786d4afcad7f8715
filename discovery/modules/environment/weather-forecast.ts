import * as z from 'zod'
import { Latitude, Longitude, placeInput } from '../../fields/coordinates.ts'
import { defineLookup } from '../../module.ts'

const Value = z.number().nullable()

const CONDITIONS = [
  ...['clear', 'partly_cloudy', 'cloudy', 'fog', 'drizzle', 'rain', 'freezing_rain'],
  ...['sleet', 'snow', 'showers', 'thunderstorm', 'hail'],
] as const

const WeatherPoint = z.strictObject({
  time: z.iso.datetime(),
  step_h: z.union([z.literal(1), z.literal(6)]).describe('Hours that sums and conditions cover.'),
  temperature_c: Value,
  humidity_percent: Value,
  pressure_hpa: Value.describe('At sea level.'),
  cloud_cover_percent: Value,
  wind_speed_m_s: Value,
  wind_gust_m_s: Value,
  wind_direction_deg: Value.describe('Direction that the wind comes from.'),
  precipitation_mm: Value,
  precipitation_probability_percent: Value,
  condition: z.enum(CONDITIONS).nullable(),
})
export type WeatherPoint = z.output<typeof WeatherPoint>

const WeatherDay = z.strictObject({
  date: z.iso.date().describe('Day in UTC.'),
  temperature_min_c: Value,
  temperature_max_c: Value,
  precipitation_mm: Value,
  sunrise: z.iso.datetime().nullable(),
  sunset: z.iso.datetime().nullable(),
})
export type WeatherDay = z.output<typeof WeatherDay>

const WeatherForecast = z.strictObject({
  lat: Latitude,
  lon: Longitude,
  elevation_m: Value,
  model_updated_at: z.iso.datetime().nullable(),
  current: WeatherPoint.nullable(),
  hourly: z.array(WeatherPoint).max(400),
  daily: z.array(WeatherDay).max(20),
})
export type WeatherForecast = z.output<typeof WeatherForecast>

const input = z.strictObject(placeInput)
export type WeatherInput = z.output<typeof input>

export default defineLookup({
  id: 'weather-forecast',
  name: 'Weather forecast',
  description: 'Forecast the weather at a place for the next days, hour by hour.',
  tags: ['environment', 'weather'],
  access: 'key',
  reach: 'internet',
  input,
  examples: [{ lat: 48.1, lon: 11.5 }],
  deadlineSeconds: 45,
  data: WeatherForecast,
})
