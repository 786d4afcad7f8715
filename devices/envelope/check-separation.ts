import type { Frame } from '../../shared/wire/safety-envelope.ts'
import type { PlannedMotion } from '../profile.ts'
import { type Course, type Point, plotCourse } from './course.ts'
import { type Finding, judge, roundReading } from './finding.ts'
import type { Bound } from './merge-envelopes.ts'
import { nearestShare } from './plane.ts'
import { type DeviceSnapshot, hasFrame, hasPosition, readPosition } from './snapshot.ts'

const FRAMES: readonly Frame[] = ['local', 'wgs84']

/** Checks the distance of the whole path to where each peer is now. */
export const checkSeparation = (
  { value: limit, source }: Bound<number>,
  self: DeviceSnapshot,
  peers: readonly DeviceSnapshot[],
  motion: PlannedMotion | undefined,
  now: number,
): Finding[] => {
  const courses = new Map(FRAMES.map(frame => [frame, plotCourse(frame, self, motion, now)]))
  const measured = peers.filter(hasPosition).map(peer => {
    const frame = FRAMES.find(one => hasFrame(self, one) && hasFrame(peer, one))
    const course = frame && courses.get(frame)
    const distance = course && frame && measureToPeer(course, peer, frame, now)
    return { peer: peer.deviceId, distance }
  })
  if (measured.length === 0) return []
  const known = measured.flatMap(({ distance }) => distance ?? [])
  const nearest = Math.min(...known)
  const lost = measured.find(({ distance }) => distance === undefined)
  const isNear = known.length > 0 && nearest < limit
  const observed = lost === undefined || isNear ? roundReading(nearest) : undefined
  return [
    {
      name: 'separation_m',
      observed: observed ?? null,
      limit,
      source,
      verdict: judge(observed, value => value >= limit),
      doubt: `the distance to ${lost?.peer} is unknown`,
    },
  ]
}

const measureToPeer = (
  { legs, reach_m, toPlane }: Course,
  peer: DeviceSnapshot,
  frame: Frame,
  now: number,
): number | undefined => {
  const position = readPosition(peer, frame, now)
  if (position === undefined) return undefined
  const at: Point = [...toPlane([position.x, position.y]), position.altitude_m]
  return Math.min(...legs.map(([from, to]) => measureToLeg(at, from, to))) - reach_m
}

const measureToLeg = (at: Point, from: Point, to: Point): number => {
  const along = to.map((value, axis) => value - (from[axis] ?? 0))
  const offset = at.map((value, axis) => value - (from[axis] ?? 0))
  const share = nearestShare(offset, along)
  return Math.hypot(...offset.map((value, axis) => value - share * (along[axis] ?? 0)))
}
