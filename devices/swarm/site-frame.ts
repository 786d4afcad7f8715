import type { SiteOrigin } from '../../shared/wire/formation.ts'
import type { Point } from './formation.ts'

/** Point on the globe in degrees, WGS 84. */
interface GlobePoint {
  lat: number
  lon: number
}

/** Converter between degrees and the metres of a site. */
interface SiteFrame {
  /** Metres of a point; undefined when it is too far from the origin to be at the site. */
  toLocal(point: GlobePoint): Point | undefined
  /** Degrees of a point; undefined when it is too far from the origin to be at the site. */
  toGlobe(point: Point): GlobePoint | undefined
}

/**
 * Largest distance from the origin of a site, in metres. Within it, distances in the plane are shorter
 * than those on the ellipsoid by at most 5 millionths: 5 mm in a kilometre at the very border.
 */
export const MAX_SITE_M = 20_000

/** Semi-major axis and flattening of WGS 84 (NGA.STND.0036, table 3.1). */
const AXIS_M = 6_378_137
const FLATTENING = 1 / 298.257223563
const ECCENTRICITY2 = FLATTENING * (2 - FLATTENING)
/** Squared ratio of the axes. */
const POLAR2 = 1 - ECCENTRICITY2
const RADIANS = Math.PI / 180

type Vector = readonly [x: number, y: number, z: number]

/**
 * Creates the converter of a site: the plane that touches the ellipsoid at the origin. Altitudes do
 * not take part, so that both directions are exact and have no seam at the poles or the antimeridian.
 */
export const createSiteFrame = (origin: SiteOrigin): SiteFrame => {
  const at = toEarth(origin)
  const { xAxis, yAxis, up } = listAxes(origin)
  return {
    toLocal: point => {
      const offset = combine([1, toEarth(point)], [-1, at])
      // also excludes the far side, which the plane would show at the same place
      if (Math.hypot(...offset) > MAX_SITE_M) return undefined
      return { x: dot(offset, xAxis), y: dot(offset, yAxis) }
    },
    toGlobe: ({ x, y }) => {
      if (Math.hypot(x, y) > MAX_SITE_M) return undefined
      const onPlane = combine([1, at], [x, xAxis], [y, yAxis])
      return toDegrees(combine([1, onPlane], [dropToEarth(onPlane, up), up]))
    },
  }
}

/** Axes of the plane and its normal, in coordinates that turn with the earth. */
const listAxes = ({ lat, lon, x_bearing_degrees }: SiteOrigin) => {
  const [latitude, longitude, bearing] = [lat, lon, x_bearing_degrees].map(each => each * RADIANS)
  const [sinLat, cosLat] = [Math.sin(latitude as number), Math.cos(latitude as number)]
  const [sinLon, cosLon] = [Math.sin(longitude as number), Math.cos(longitude as number)]
  const east: Vector = [-sinLon, cosLon, 0]
  const north: Vector = [-sinLat * cosLon, -sinLat * sinLon, cosLat]
  const up: Vector = [cosLat * cosLon, cosLat * sinLon, sinLat]
  const [toEast, toNorth] = [Math.sin(bearing as number), Math.cos(bearing as number)]
  return {
    xAxis: combine([toEast, east], [toNorth, north]),
    yAxis: combine([-toNorth, east], [toEast, north]),
    up,
  }
}

/** Point of the ellipsoid in metres from the centre of the earth. */
const toEarth = ({ lat, lon }: GlobePoint): Vector => {
  const [latitude, longitude] = [lat * RADIANS, lon * RADIANS]
  const normal_m = AXIS_M / Math.sqrt(1 - ECCENTRICITY2 * Math.sin(latitude) ** 2)
  const across_m = normal_m * Math.cos(latitude)
  return [
    across_m * Math.cos(longitude),
    across_m * Math.sin(longitude),
    normal_m * POLAR2 * Math.sin(latitude),
  ]
}

const toDegrees = ([x, y, z]: Vector): GlobePoint => ({
  lat: Math.atan2(z, POLAR2 * Math.hypot(x, y)) / RADIANS,
  lon: Math.atan2(y, x) / RADIANS,
})

/** Way along the normal of the plane from one of its points to the ellipsoid, in metres. */
const dropToEarth = (point: Vector, up: Vector): number => {
  // x² + y² + z² / POLAR2 = AXIS_M² along the normal is a quadratic equation; its nearer root counts
  const a = quadratic(up, up)
  const b = quadratic(point, up)
  const c = quadratic(point, point) - AXIS_M ** 2
  return -c / (b + Math.sqrt(b * b - a * c))
}

const quadratic = ([ax, ay, az]: Vector, [bx, by, bz]: Vector): number =>
  ax * bx + ay * by + (az * bz) / POLAR2

const dot = ([ax, ay, az]: Vector, [bx, by, bz]: Vector): number => ax * bx + ay * by + az * bz

const combine = (...terms: readonly (readonly [factor: number, vector: Vector])[]): Vector => {
  const sum = (axis: 0 | 1 | 2): number =>
    terms.reduce((total, [factor, vector]) => total + factor * vector[axis], 0)
  return [sum(0), sum(1), sum(2)]
}
