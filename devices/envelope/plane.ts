import type { Geofence } from '../../shared/wire/safety-envelope.ts'

/** Point on a plane, in metres. */
export type PlanePoint = readonly [x: number, y: number]

/** Straight part of a path; its ends may be equal. */
type Segment = readonly [from: PlanePoint, to: PlanePoint]

/** Mean radius of the earth (IUGG), in metres. */
const EARTH_RADIUS_M = 6_371_009
const RADIANS = Math.PI / 180

/**
 * Creates the projection of coordinates of a frame to a plane around an origin. On the globe it is
 * equirectangular: within 10 km of the origin its error is below 0.1 % at latitudes up to 60°.
 */
export const createProjection = (
  frame: Geofence['frame'],
  [originX, originY]: readonly [number, number],
): ((point: readonly [number, number]) => PlanePoint) => {
  if (frame === 'local') return point => point
  const eastScale = EARTH_RADIUS_M * RADIANS * Math.cos(originX * RADIANS)
  return ([lat, lon]) => [
    normalizeDegrees(lon - originY) * eastScale,
    (lat - originX) * RADIANS * EARTH_RADIUS_M,
  ]
}

/** Shortest turn of an angle, so that areas may lie across the antimeridian. */
const normalizeDegrees = (degrees: number): number => {
  const rest = ((degrees % 360) + 360) % 360
  return rest > 180 ? rest - 360 : rest
}

/** True for a point inside a polygon, by the even-odd rule. */
export const isInside = ([x, y]: PlanePoint, polygon: readonly PlanePoint[]): boolean =>
  listEdges(polygon).filter(([[ax, ay], [bx, by]]) => {
    if (ay > y === by > y) return false
    return x < ax + ((y - ay) / (by - ay)) * (bx - ax)
  }).length %
    2 ===
  1

/** Distance of a segment to the border of a polygon; 0 when it crosses or touches it. */
export const measureToBorder = (segment: Segment, polygon: readonly PlanePoint[]): number =>
  Math.min(...listEdges(polygon).map(edge => measureBetween(segment, edge)))

const listEdges = (polygon: readonly PlanePoint[]): Segment[] =>
  polygon.flatMap((to, index) => {
    const from = polygon.at(index - 1)
    return from === undefined ? [] : [[from, to] as const]
  })

/** Distance between two segments. */
const measureBetween = (one: Segment, other: Segment): number =>
  doCross(one, other)
    ? 0
    : Math.min(
        measureToSegment(one[0], other),
        measureToSegment(one[1], other),
        measureToSegment(other[0], one),
        measureToSegment(other[1], one),
      )

/** Distance of a point to a segment. */
const measureToSegment = ([x, y]: PlanePoint, [[ax, ay], [bx, by]]: Segment): number => {
  const share = nearestShare([x - ax, y - ay], [bx - ax, by - ay])
  return Math.hypot(x - (ax + share * (bx - ax)), y - (ay + share * (by - ay)))
}

/** Share of the way along a segment at which it is nearest to a point, from 0 to 1. */
export const nearestShare = (point: readonly number[], along: readonly number[]): number => {
  const length2 = dot(along, along)
  return length2 === 0 ? 0 : Math.min(1, Math.max(0, dot(point, along) / length2))
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)

/** True when each segment has its ends on different sides of the other. */
const doCross = ([a, b]: Segment, [c, d]: Segment): boolean =>
  sideOf(a, b, c) * sideOf(a, b, d) < 0 && sideOf(c, d, a) * sideOf(c, d, b) < 0

/** Sign of the side of a line on which a point lies. */
const sideOf = ([ax, ay]: PlanePoint, [bx, by]: PlanePoint, [x, y]: PlanePoint): number =>
  Math.sign((bx - ax) * (y - ay) - (by - ay) * (x - ax))
