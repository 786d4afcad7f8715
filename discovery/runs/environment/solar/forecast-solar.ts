import * as z from 'zod'
import { cutDecimals } from '../../../fields/coordinates.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type { PvForecast, PvStep } from '../../../modules/environment/pv-forecast.ts'
import forecastSolar from '../../../upstreams/sources/forecast-solar.ts'
import type { Panels } from './panels.ts'
import { createForecast, createStep, requireSteps } from './series.ts'

/** Energy of the span since the entry before; entries stand at sunrise, sunset and full hours. */
const Estimate = z.object({
  result: z.object({ watt_hours_period: z.record(z.string().max(40), z.number()) }),
})

const HOUR_MS = 3_600_000
/** A span that is longer than any step: the night. */
const NIGHT_MS = 2 * HOUR_MS

/** Estimate of forecast.solar (https://doc.forecast.solar/api:estimate). */
export const askForecastSolar = async (
  panels: Panels,
  { ask, now }: LookupContext,
): Promise<PvForecast> => {
  const place = [cutDecimals(panels.lat, 4), cutDecimals(panels.lon, 4)]
  const plane = [Math.round(panels.tiltDegrees), Math.round(panels.azimuthDegrees)]
  const { body } = await ask({
    source: forecastSolar,
    path: `/estimate/${[...place, ...plane, panels.peakPowerKw].join('/')}`,
    query: { time: 'utc', damping: 0 },
    form: 'json',
  })
  const { watt_hours_period } = Estimate.parse(body).result
  const steps = requireSteps(forecastSolar, stepsOf(watt_hours_period))
  return createForecast(panels, 'provider', steps, now())
}

const stepsOf = (periods: Readonly<Record<string, number>>): PvStep[] => {
  const entries = Object.entries(periods)
    .map(([time, wattHours]) => ({ at: Date.parse(time), wattHours }))
    .filter(({ at }) => !Number.isNaN(at))
    .toSorted((a, b) => a.at - b.at)
  return entries.flatMap(({ at, wattHours }, index) => {
    const before = entries[index - 1]?.at
    if (before === undefined || at - before > NIGHT_MS) return []
    const hours = (at - before) / HOUR_MS
    return [createStep(before, at, Math.max(0, wattHours) / 1000 / hours)]
  })
}
