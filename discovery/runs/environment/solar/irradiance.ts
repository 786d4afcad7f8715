import { getPosition } from 'suncalc'
import type { Panels } from './panels.ts'

/** Irradiance outside the atmosphere, W/m² (mean over the year). */
const SOLAR_CONSTANT = 1361
/** Share of light that common ground reflects. */
const ALBEDO = 0.2
/** Height below which the direct share cannot be told from the measurement, degrees. */
const MIN_HEIGHT_DEGREES = 3

const radians = (degrees: number): number => (degrees * Math.PI) / 180

/** Diffuse share of the light on the ground, by its clearness (Erbs, Klein and Duffie 1982). */
const diffuseShare = (clearness: number): number => {
  const k = Math.min(1, clearness)
  if (k <= 0.22) return 1 - 0.09 * k
  if (k > 0.8) return 0.165
  return 0.9511 - 0.1604 * k + 4.388 * k ** 2 - 16.638 * k ** 3 + 12.336 * k ** 4
}

/**
 * Irradiance in the plane of the panels from that on level ground, W/m²: direct light by its angle,
 * diffuse light from an isotropic sky (Liu and Jordan 1963).
 */
export const tiltIrradiance = (panels: Panels, at: Date, horizontal: number): number => {
  const { altitude, azimuth } = getPosition(at, panels.lat, panels.lon)
  const tilt = radians(panels.tiltDegrees)
  if (horizontal <= 0) return 0
  const height = radians(altitude)
  const outside = SOLAR_CONSTANT * Math.sin(height)
  const share = altitude < MIN_HEIGHT_DEGREES ? 1 : diffuseShare(horizontal / outside)
  const diffuse = horizontal * share * ((1 + Math.cos(tilt)) / 2)
  const reflected = horizontal * ALBEDO * ((1 - Math.cos(tilt)) / 2)
  if (share === 1) return diffuse + reflected
  // north-based angles of suncalc, south-based ones of the panels
  const between = radians(azimuth - 180 - panels.azimuthDegrees)
  const incidence =
    Math.sin(height) * Math.cos(tilt) + Math.cos(height) * Math.sin(tilt) * Math.cos(between)
  const direct = (horizontal * (1 - share) * Math.max(0, incidence)) / Math.sin(height)
  return diffuse + reflected + direct
}

/** Irradiance on level ground under a clear sky, W/m² (Haurwitz 1945). */
export const clearSky = ({ lat, lon }: Pick<Panels, 'lat' | 'lon'>, at: Date): number => {
  const sine = Math.sin(radians(getPosition(at, lat, lon).altitude))
  return sine <= 0 ? 0 : 1098 * sine * Math.exp(-0.057 / sine)
}
