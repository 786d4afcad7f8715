import type { Place } from '../../../fields/coordinates.ts'

/** Solar panels at a place. */
export interface Panels extends Place {
  peakPowerKw: number
  /** Tilt from the horizontal. */
  tiltDegrees: number
  /** 0 is south, -90 east, 90 west. */
  azimuthDegrees: number
}

/** Nominal operating cell temperature of common modules, °C. */
const NOCT_C = 45
const LOSS_PER_KELVIN = 0.004
/** Share that is left after inverter, cables and dirt. */
const PERFORMANCE = 0.86

/**
 * Power of panels in a plane with so much irradiance (W/m²), kW: the cell is warmer than the air in
 * proportion to the irradiance (IEC 61215, NOCT), and loses 0.4 % a kelvin.
 */
export const powerOf = (
  { peakPowerKw }: Pick<Panels, 'peakPowerKw'>,
  irradiance: number,
  airTemperatureC: number,
): number => {
  const cellC = airTemperatureC + (irradiance / 800) * (NOCT_C - 20)
  const share = (irradiance / 1000) * (1 - LOSS_PER_KELVIN * (cellC - 25)) * PERFORMANCE
  return Math.min(peakPowerKw, Math.max(0, peakPowerKw * share))
}
