import { getTimes } from 'suncalc'
import type { Place } from '../../../fields/coordinates.ts'
import { round } from '../../../fields/round.ts'
import type { WeatherDay, WeatherPoint } from '../../../modules/environment/weather-forecast.ts'

const MAX_DAYS = 20
const HOUR_MS = 3_600_000

/** Sums up the points of each day, UTC. The sun's times are calculated. */
export const summarizeDays = (points: readonly WeatherPoint[], place: Place): WeatherDay[] => {
  const days = Map.groupBy(points, ({ time }) => time.slice(0, 10))
  return [...days].slice(0, MAX_DAYS).map(([date, members]) => {
    const temperatures = members.flatMap(({ temperature_c }) => temperature_c ?? [])
    const amounts = members.flatMap(({ precipitation_mm }) => precipitation_mm ?? [])
    return {
      date,
      temperature_min_c: temperatures.length === 0 ? null : Math.min(...temperatures),
      temperature_max_c: temperatures.length === 0 ? null : Math.max(...temperatures),
      precipitation_mm: amounts.length === 0 ? null : round(sum(amounts), 1),
      ...sunTimes(date, place),
    }
  })
}

/** Sunrise and sunset of a day; null where the sun stays above or below the horizon. */
const sunTimes = (date: string, { lat, lon }: Place): Pick<WeatherDay, 'sunrise' | 'sunset'> => {
  const { sunrise, sunset } = getTimes(new Date(`${date}T12:00:00Z`), lat, lon)
  return { sunrise: sunrise?.toISOString() ?? null, sunset: sunset?.toISOString() ?? null }
}

/** Point whose span includes the time; the first one when the forecast begins later. */
export const findCurrent = (points: readonly WeatherPoint[], now: number): WeatherPoint | null => {
  const [first] = points
  const current = points.findLast(({ time }) => Date.parse(time) <= now)
  if (current === undefined) return first ?? null
  return now - Date.parse(current.time) < current.step_h * HOUR_MS ? current : null
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0)
