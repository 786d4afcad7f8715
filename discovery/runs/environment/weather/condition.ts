import type { WeatherPoint } from '../../../modules/environment/weather-forecast.ts'

type Condition = NonNullable<WeatherPoint['condition']>

/** Parts of MET Norway's symbols, the decisive ones first (https://github.com/metno/weathericons). */
const BY_SYMBOL: readonly [RegExp, Condition][] = [
  [/thunder/, 'thunderstorm'],
  [/sleet/, 'sleet'],
  [/snow/, 'snow'],
  [/rainshowers/, 'showers'],
  [/rain/, 'rain'],
  [/fog/, 'fog'],
  [/partlycloudy|fair/, 'partly_cloudy'],
  [/cloudy/, 'cloudy'],
  [/clearsky/, 'clear'],
]

/** Condition of a symbol such as `lightrainshowers_day`; null for one that is not known. */
export const conditionOfSymbol = (symbol: string | undefined): Condition | null => {
  const name = symbol?.replace(/_(day|night|polartwilight)$/, '') ?? ''
  return BY_SYMBOL.find(([part]) => part.test(name))?.[1] ?? null
}

/** Weather codes of the WMO that Open-Meteo uses (https://open-meteo.com/en/docs). */
const CODES: readonly [Condition, readonly number[]][] = [
  ['clear', [0, 1]],
  ['partly_cloudy', [2]],
  ['cloudy', [3]],
  ['fog', [45, 48]],
  ['drizzle', [51, 53, 55]],
  ['freezing_rain', [56, 57, 66, 67]],
  ['rain', [61, 63, 65]],
  ['snow', [71, 73, 75, 77, 85, 86]],
  ['showers', [80, 81, 82]],
  ['thunderstorm', [95]],
  ['hail', [96, 99]],
]

export const conditionOfCode = (code: number | null | undefined): Condition | null =>
  CODES.find(([, codes]) => codes.includes(code ?? -1))?.[0] ?? null

/** Icons of Bright Sky without `-day` and `-night` (https://brightsky.dev/docs). */
const BY_ICON: Readonly<Record<string, Condition>> = {
  clear: 'clear',
  'partly-cloudy': 'partly_cloudy',
  cloudy: 'cloudy',
  fog: 'fog',
  rain: 'rain',
  sleet: 'sleet',
  snow: 'snow',
  hail: 'hail',
  thunderstorm: 'thunderstorm',
}

export const conditionOfIcon = (icon: string | null | undefined): Condition | null =>
  BY_ICON[icon?.replace(/-(day|night)$/, '') ?? ''] ?? null
