import type { Pollutant } from '../../../modules/environment/air-quality.ts'

/** Molar masses, g/mol (IUPAC). */
const MOLAR_MASSES: Partial<Record<Pollutant, number>> = {
  no2: 46.006,
  o3: 47.998,
  so2: 64.066,
  co: 28.01,
}
/** Volume of a mole of gas at 20 °C and 1013 hPa, litres. */
const MOLAR_VOLUME = 24.06

/**
 * Value in µg/m³; undefined for a unit that is not known. The sign of micro is written in two ways:
 * U+00B5 and U+03BC.
 */
export const toMicrograms = (
  pollutant: Pollutant,
  value: number,
  unit: string,
): number | undefined => {
  const name = unit.replaceAll('\u03bc', '\u00b5').toLowerCase()
  if (name === '\u00b5g/m³' || name === 'ug/m3' || name === 'ug/m³') return value
  if (name === 'mg/m³') return value * 1000
  const mass = MOLAR_MASSES[pollutant]
  const perBillion = { ppb: 1, ppm: 1000 }[name]
  if (mass === undefined || perBillion === undefined) return undefined
  return (value * perBillion * mass) / MOLAR_VOLUME
}
