import {
  degreesLat,
  degreesLong,
  eciToGeodetic,
  gstime,
  jday,
  propagate,
  type SatRec,
  shadowFraction,
  sunPos,
} from 'satellite.js'

/** Position of a satellite by SGP4. */
interface OrbitPoint {
  lat: number
  lon: number
  altitudeKm: number
  velocityKmh: number
  /** Diameter of the area from which the satellite stands above the horizon. */
  footprintKm: number
  isSunlit: boolean
}

const EARTH_RADIUS_KM = 6371

/** Undefined where the elements do not reach: the orbit has decayed, or they are too old. */
export const locate = (satellite: SatRec, at: Date): OrbitPoint | undefined => {
  const state = propagate(satellite, at)
  if (state === null) return undefined
  const { position, velocity } = state
  const { latitude, longitude, height } = eciToGeodetic(position, gstime(at))
  const { rsun } = sunPos(jday(at))
  const point = {
    lat: degreesLat(latitude),
    lon: degreesLong(longitude),
    altitudeKm: height,
    velocityKmh: Math.hypot(velocity.x, velocity.y, velocity.z) * 3600,
    footprintKm: footprintOf(height),
    isSunlit: shadowFraction(rsun, position) < 1,
  }
  return Object.values(point).every(isUsable) ? point : undefined
}

/** Elements that no orbit has give positions that are no numbers. */
const isUsable = (value: number | boolean): boolean => Number.isFinite(Number(value))

/** Arc on the ground between the two tangents from the satellite. */
const footprintOf = (heightKm: number): number =>
  2 * EARTH_RADIUS_KM * Math.acos(EARTH_RADIUS_KM / (EARTH_RADIUS_KM + heightKm))
