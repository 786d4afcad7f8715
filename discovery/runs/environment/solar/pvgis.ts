import * as z from 'zod'
import { DAY_MS, HOUR_MS } from '../../../../shared/time.ts'
import { cutDecimals } from '../../../fields/coordinates.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type { PvForecast } from '../../../modules/environment/pv-forecast.ts'
import pvgis from '../../../upstreams/sources/pvgis.ts'
import type { Panels } from './panels.ts'
import { createForecast, createHourStep, requireSteps } from './series.ts'

/** `20190301:0910`, UTC; the minutes are those of the satellite and not zero. */
const Hour = z.object({ time: z.string().regex(/^\d{8}:\d{4}$/), P: z.number().nonnegative() })
const Series = z.object({ outputs: z.object({ hourly: z.array(Hour).max(9000) }) })

const YEAR = 2019
const DAYS = 3

/** A typical year (https://joint-research-centre.ec.europa.eu, PVGIS non-interactive service). */
export const askPvgis = async (
  panels: Panels,
  { ask, now }: LookupContext,
): Promise<PvForecast> => {
  const { body } = await ask({
    source: pvgis,
    path: '/seriescalc',
    query: {
      lat: cutDecimals(panels.lat, 3),
      lon: cutDecimals(panels.lon, 3),
      // of one kilowatt, so that every size has the same answer
      ...{ peakpower: 1, loss: 14, pvcalculation: 1, usehorizon: 1, outputformat: 'json' },
      ...{ angle: panels.tiltDegrees, aspect: panels.azimuthDegrees },
      ...{ startyear: YEAR, endyear: YEAR },
    },
    form: 'json',
  })
  const watts = new Map(
    Series.parse(body).outputs.hourly.map(({ time, P }) => [time.slice(4, 11), P]),
  )
  const midnight = now() - (now() % DAY_MS)
  const steps = Array.from({ length: DAYS * 24 }, (_, hour) => midnight + hour * HOUR_MS).flatMap(
    start => {
      const power = watts.get(nameOf(start))
      return power === undefined ? [] : [createHourStep(start, (power / 1000) * panels.peakPowerKw)]
    },
  )
  return createForecast(panels, 'typical_year', requireSteps(pvgis, steps), now())
}

/** `0301:09`; the year has no 29 February, which is like the day before. */
const nameOf = (ms: number): string => {
  const text = new Date(ms).toISOString()
  const day = `${text.slice(5, 7)}${text.slice(8, 10)}`
  return `${day === '0229' ? '0228' : day}:${text.slice(11, 13)}`
}
