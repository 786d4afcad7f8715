import { round } from '../../../fields/round.ts'
import type { PvDay, PvForecast, PvStep } from '../../../modules/environment/pv-forecast.ts'
import { UpstreamError } from '../../../upstreams/client.ts'
import type { Source } from '../../../upstreams/source.ts'
import type { Panels } from './panels.ts'

const HOUR_MS = 3_600_000
const MAX_STEPS = 1000
const MAX_DAYS = 20

/** A step of the series from its mean power. */
export const createStep = (startMs: number, endMs: number, powerKw: number): PvStep => ({
  start: new Date(startMs).toISOString(),
  end: new Date(endMs).toISOString(),
  power_kw: round(powerKw, 3),
  energy_kwh: round((powerKw * (endMs - startMs)) / HOUR_MS, 3),
})

export const createHourStep = (startMs: number, powerKw: number): PvStep =>
  createStep(startMs, startMs + HOUR_MS, powerKw)

/** @throws UpstreamError for an answer without a forecast, so that the next source is asked */
export const requireSteps = (
  source: Pick<Source, 'id'>,
  steps: readonly PvStep[],
): readonly PvStep[] => {
  if (steps.length > 0) return steps
  throw new UpstreamError(source.id, 'not_found', 'it has no forecast for the place')
}

/** The forecast of a series; its days are those of UTC. */
export const createForecast = (
  panels: Panels,
  method: PvForecast['method'],
  steps: readonly PvStep[],
  now: number,
): PvForecast => {
  const series = steps.slice(0, MAX_STEPS)
  return {
    lat: panels.lat,
    lon: panels.lon,
    peak_power_kw: panels.peakPowerKw,
    tilt_deg: panels.tiltDegrees,
    azimuth_deg: panels.azimuthDegrees,
    method,
    timezone: 'UTC',
    series,
    days: summarize(series),
    remaining_today_kwh: countRemaining(series, now),
  }
}

const summarize = (series: readonly PvStep[]): PvDay[] =>
  [...Map.groupBy(series, ({ start }) => start.slice(0, 10))]
    .slice(0, MAX_DAYS)
    .map(([date, steps]) => {
      const peak = steps.reduce((best, step) => (step.power_kw > best.power_kw ? step : best))
      return {
        date,
        energy_kwh: round(total(steps), 3),
        peak_power_kw: peak.power_kw,
        peak_at: peak.power_kw > 0 ? peak.start : null,
      }
    })

const total = (steps: readonly PvStep[]): number =>
  steps.reduce((sum, { energy_kwh }) => sum + energy_kwh, 0)

/** Energy from now to the end of the day; of the step under way, the part that is left. */
const countRemaining = (series: readonly PvStep[], now: number): number => {
  const today = new Date(now).toISOString().slice(0, 10)
  const parts = series
    .filter(({ start, end }) => start.startsWith(today) && Date.parse(end) > now)
    .map(({ start, end, power_kw }) => {
      const leftMs = Date.parse(end) - Math.max(now, Date.parse(start))
      return (power_kw * leftMs) / HOUR_MS
    })
  return round(
    parts.reduce((sum, part) => sum + part, 0),
    3,
  )
}
