import * as z from 'zod'
import type { LookupContext } from '../../../lookup-run.ts'
import type { PvForecast } from '../../../modules/environment/pv-forecast.ts'
import brightsky from '../../../upstreams/sources/brightsky.ts'
import openMeteo from '../../../upstreams/sources/open-meteo.ts'
import { askBrightskyHours } from '../weather/brightsky.ts'
import { clearSky, tiltIrradiance } from './irradiance.ts'
import { type Panels, powerOf } from './panels.ts'
import { createForecast, createHourStep, requireSteps } from './series.ts'

const HOUR_MS = 3_600_000
/** Air temperature where a source gives none, °C. */
const MILD_C = 15

const Column = z.array(z.number().nullable()).max(500)

const Irradiance = z.object({
  hourly: z.object({
    time: z.array(z.number()).max(500),
    global_tilted_irradiance: Column,
    temperature_2m: Column,
  }),
})

/** Irradiance in the plane, the mean of the hour before each time (https://open-meteo.com/en/docs). */
export const modelFromOpenMeteo = async (
  panels: Panels,
  { ask, now }: LookupContext,
): Promise<PvForecast> => {
  const { body } = await ask({
    source: openMeteo,
    path: '/v1/forecast',
    query: {
      latitude: panels.lat,
      longitude: panels.lon,
      hourly: 'global_tilted_irradiance,temperature_2m',
      tilt: panels.tiltDegrees,
      azimuth: panels.azimuthDegrees,
      timezone: 'UTC',
      timeformat: 'unixtime',
      forecast_days: 7,
    },
    form: 'json',
  })
  const { time, global_tilted_irradiance, temperature_2m } = Irradiance.parse(body).hourly
  const steps = time.flatMap((at, index) => {
    const irradiance = global_tilted_irradiance[index] ?? null
    if (irradiance === null) return []
    const power = powerOf(panels, irradiance, temperature_2m[index] ?? MILD_C)
    return [createHourStep(at * 1000 - HOUR_MS, power)]
  })
  return createForecast(panels, 'irradiance_model', requireSteps(openMeteo, steps), now())
}

/** Horizontal energy of the hour before each time, turned into the plane of the panels. */
export const modelFromBrightsky = async (
  panels: Panels,
  context: LookupContext,
): Promise<PvForecast> => {
  const hours = await askBrightskyHours(panels, context)
  const steps = hours.flatMap(({ timestamp, solar, temperature }) => {
    if (solar == null) return []
    const start = Date.parse(timestamp) - HOUR_MS
    const tilted = tiltIrradiance(panels, new Date(start + HOUR_MS / 2), solar * 1000)
    return [createHourStep(start, powerOf(panels, tilted, temperature ?? MILD_C))]
  })
  const found = requireSteps(brightsky, steps)
  return createForecast(panels, 'irradiance_model', found, context.now())
}

const CLEAR_SKY_HOURS = 72

/** Upper bound without any source: a clear sky from today's midnight, UTC. */
export const modelClearSky = (panels: Panels, now: number): PvForecast => {
  const midnight = now - (now % (24 * HOUR_MS))
  const steps = Array.from({ length: CLEAR_SKY_HOURS }, (_, hour) => {
    const start = midnight + hour * HOUR_MS
    const middle = new Date(start + HOUR_MS / 2)
    const tilted = tiltIrradiance(panels, middle, clearSky(panels, middle))
    return createHourStep(start, powerOf(panels, tilted, MILD_C))
  })
  return createForecast(panels, 'clear_sky', steps, now)
}
