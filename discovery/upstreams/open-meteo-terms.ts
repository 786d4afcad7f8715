import type { LookupSettings } from '../lookup-run.ts'

/**
 * True when Open-Meteo may be asked: the free hosts are for use that is not commercial
 * (https://open-meteo.com/en/terms), so it takes a key, an own server, or the operator's word.
 */
export const isOpenMeteoAllowed = (
  { hasKey, hasOwnUrl, option }: LookupSettings,
  source: 'open-meteo' | 'open-meteo-aq' = 'open-meteo',
): boolean =>
  hasKey('open-meteo') || hasOwnUrl(source) || option('open-meteo', 'noncommercial') === true
