import type { EnvelopeSource, Geofence } from '../../shared/wire/safety-envelope.ts'
import type { LaunchMotion, PlannedMotion } from '../profile.ts'
import { type Course, type Point, plotCourse, plotLaunch } from './course.ts'
import { type Finding, judge, roundReading } from './finding.ts'
import type { Bound } from './merge-envelopes.ts'
import { isInside, measureToBorder } from './plane.ts'
import type { DeviceSnapshot } from './snapshot.ts'

/** Horizontal distance from the launch at which a vehicle still lands there: wind moves it. */
const LANDING_M = 5

/** What a device is about to do. */
interface FencedMotion {
  /** Undefined for a device whose position alone counts. */
  motion: PlannedMotion | undefined
  /** Place where it may land, below a least altitude too. */
  launch: LaunchMotion | undefined
}

interface FencedCourse {
  fence: Geofence
  /** Undefined when the position, or its frame, is unknown. */
  course: Course | undefined
  /** Undefined where it lands nowhere, or where the place is unknown. */
  launch: Point | undefined
}

/**
 * Checks the geofences of each source: the device and its whole path must be inside every area and
 * outside every keep-out, with a margin above 0. Without a motion, the position alone counts.
 */
export const checkGeofences = (
  fences: readonly Bound<Geofence>[],
  self: DeviceSnapshot,
  { motion, launch }: FencedMotion,
  now: number,
): Finding[] =>
  [...Map.groupBy(fences, ({ source }) => source)].flatMap(([source, bounds]) => {
    const all = bounds.map(({ value: fence }) => {
      const course = plotCourse(fence.frame, self, motion, now)
      const isPlotted = launch?.frame === fence.frame
      return {
        fence,
        course,
        launch: isPlotted ? plotLaunch(launch, course, self, now) : undefined,
      }
    })
    return [...checkMargins(source, all), ...checkAltitudes(source, all)]
  })

const checkMargins = (source: EnvelopeSource, all: readonly FencedCourse[]): Finding[] => {
  const bordered = all.filter(({ fence: { area, keep_out = [] } }) => area || keep_out.length > 0)
  if (bordered.length === 0) return []
  const margins = bordered.map(({ fence, course }) => course && measureMargin(fence, course))
  const margin = findLeast(margins)
  const reach = Math.max(...bordered.map(({ course }) => course?.reach_m ?? 0))
  const base = { name: 'geofence_margin_m', observed: margin ?? null, limit: 0, source }
  // a motion without a known end may leave the area, but need not
  if (margin !== undefined && margin <= 0 && margin + reach > 0)
    return [{ ...base, verdict: 'unknown', doubt: `it may end up to ${reach} m away` }]
  const verdict = judge(margin, value => value > 0)
  return [{ ...base, verdict, doubt: 'the position in the frame of the geofence is unknown' }]
}

/** The least of these; undefined when one is unknown and none of the others fails. */
const findLeast = (values: readonly (number | undefined)[]): number | undefined => {
  const known = values.filter(value => value !== undefined)
  const least = Math.min(...known)
  return known.length === values.length || least <= 0 ? roundReading(least) : undefined
}

/** Distance to the nearest border; not above 0 for a course that is not on its right side. */
const measureMargin = (
  { area, keep_out = [] }: Geofence,
  { legs, reach_m, toPlane }: Course,
): number => {
  const polygons = [
    ...(area === undefined ? [] : [{ polygon: area.map(toPlane), isArea: true }]),
    ...keep_out.map(one => ({ polygon: one.map(toPlane), isArea: false })),
  ]
  const margins = polygons.flatMap(({ polygon, isArea }) =>
    legs.map(([[fromX, fromY], [toX, toY]]) => {
      const from = [fromX, fromY] as const
      const distance = measureToBorder([from, [toX, toY]], polygon)
      return isInside(from, polygon) === isArea ? distance : -distance
    }),
  )
  return Math.min(...margins) - reach_m
}

const checkAltitudes = (source: EnvelopeSource, all: readonly FencedCourse[]): Finding[] => {
  const limited = all.filter(
    ({ fence }) => fence.min_altitude_m !== undefined || fence.max_altitude_m !== undefined,
  )
  if (limited.length === 0) return []
  const min = Math.max(...limited.map(({ fence }) => fence.min_altitude_m ?? -Infinity))
  const max = Math.min(...limited.map(({ fence }) => fence.max_altitude_m ?? Infinity))
  const worst = findWorst(limited, { min, max })
  return [
    {
      name: 'altitude_m',
      observed: worst === undefined ? null : roundReading(worst.altitude_m),
      limit: { min: Number.isFinite(min) ? min : null, max: Number.isFinite(max) ? max : null },
      source,
      verdict: judge(worst?.excess_m, value => value <= 0),
      doubt: 'the altitude in the frame of the geofence is unknown',
    },
  ]
}

interface FencedAltitude {
  altitude_m: number
  /** Distance beyond the nearest limit; not above 0 where it is within them. */
  excess_m: number
}

/** Altitude with the greatest excess; undefined when one is unknown. */
const findWorst = (
  all: readonly FencedCourse[],
  { min, max }: { min: number; max: number },
): FencedAltitude | undefined => {
  if (all.some(({ course }) => course === undefined)) return undefined
  return all
    .flatMap(({ course, launch }) =>
      (course?.legs ?? []).map(([, to]): FencedAltitude => {
        const [, , altitude_m] = to
        const below = isLanding(to, launch) ? Number.NEGATIVE_INFINITY : min - altitude_m
        return { altitude_m, excess_m: Math.max(altitude_m - max, below) }
      }),
    )
    .reduce((worst, one) => (one.excess_m > worst.excess_m ? one : worst))
}

/** True where a vehicle comes down at its launch: the least altitude does not hold there. */
const isLanding = ([x, y]: Point, launch: Point | undefined): boolean =>
  launch !== undefined && Math.hypot(x - launch[0], y - launch[1]) <= LANDING_M
