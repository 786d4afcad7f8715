import * as z from 'zod'
import type { Place } from '../../../fields/coordinates.ts'
import { round } from '../../../fields/round.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type { AirQuality, Pollutant } from '../../../modules/environment/air-quality.ts'
import openMeteoAq from '../../../upstreams/sources/open-meteo-aq.ts'

const Value = z.number().nullish()

const Current = z.object({
  current: z.object({
    time: z.number(),
    pm10: Value,
    pm2_5: Value,
    nitrogen_dioxide: Value,
    ozone: Value,
    sulphur_dioxide: Value,
    carbon_monoxide: Value,
    european_aqi: Value,
  }),
})
type Current = z.output<typeof Current>['current']

const NAMES: readonly [Pollutant, keyof Current][] = [
  ['pm2_5', 'pm2_5'],
  ['pm10', 'pm10'],
  ['no2', 'nitrogen_dioxide'],
  ['o3', 'ozone'],
  ['so2', 'sulphur_dioxide'],
  ['co', 'carbon_monoxide'],
]

/** Upper ends of the bands of the European index (https://airindex.eea.europa.eu). */
const BANDS = [
  [20, 'good'],
  [40, 'fair'],
  [60, 'moderate'],
  [80, 'poor'],
  [100, 'very_poor'],
] as const

/** Air quality by a model (https://open-meteo.com/en/docs/air-quality-api), all in µg/m³. */
export const askOpenMeteoAir = async (
  { lat, lon }: Place,
  { ask }: LookupContext,
): Promise<Pick<AirQuality, 'index' | 'pollutants'>> => {
  const { body } = await ask({
    source: openMeteoAq,
    path: '/v1/air-quality',
    query: {
      latitude: lat,
      longitude: lon,
      current: [...NAMES.map(([, name]) => name), 'european_aqi'].join(','),
      timezone: 'UTC',
      timeformat: 'unixtime',
      domains: 'auto',
    },
    form: 'json',
  })
  const { current } = Current.parse(body)
  const at = new Date(current.time * 1000).toISOString()
  const pollutants = NAMES.flatMap(([pollutant, name]) => {
    const value = current[name]
    if (value == null) return []
    return [
      { pollutant, value_ug_m3: round(value, 2), method: 'modelled' as const, stations: 0, at },
    ]
  })
  return { index: indexOf(current.european_aqi), pollutants }
}

const indexOf = (value: number | null | undefined): AirQuality['index'] => {
  if (value == null) return null
  const [, category = 'extremely_poor' as const] = BANDS.find(([end]) => value <= end) ?? []
  return { scheme: 'european_aqi', value, category }
}
