import type { Frame } from '../../shared/wire/safety-envelope.ts'
import type { LaunchMotion, PlannedMotion, Position } from '../profile.ts'
import { createProjection } from './plane.ts'
import { type DeviceSnapshot, readFreshNumber, readPosition } from './snapshot.ts'

/** Point in metres; the third coordinate is an altitude. */
export type Point = readonly [x: number, y: number, altitude_m: number]

/** Part of the world that a motion may touch, in metres around an origin. */
export interface Course {
  /** Straight parts; a single one without length for a device that rests. */
  legs: readonly (readonly [from: Point, to: Point])[]
  /** Horizontal distance around the legs that it may touch, too. */
  reach_m: number
  /** Projects positions of the frame to the same plane. */
  toPlane: ReturnType<typeof createProjection>
}

/**
 * Plots the way of a device from where it is, in one frame; without a motion it rests. Undefined when
 * its position in that frame is unknown, or when the motion is planned in another one.
 */
export const plotCourse = (
  frame: Frame,
  self: DeviceSnapshot,
  motion: PlannedMotion | undefined,
  now: number,
): Course | undefined => {
  const start = readPosition(self, frame, now)
  if (start === undefined || motion?.path.some(point => point.frame !== frame)) return undefined
  const goals = listGoals(start, motion, self, now)
  if (goals === undefined || goals.some(point => point.frame !== frame)) return undefined
  const toPlane = createProjection(frame, [start.x, start.y])
  const points = [start, ...goals].map(
    ({ x, y, altitude_m }): Point => [...toPlane([x, y]), altitude_m],
  )
  return {
    legs: points.map((to, index) => [points[index - 1] ?? to, to] as const),
    reach_m: motion && isOpen(motion) ? findReach(motion) : 0,
    toPlane,
  }
}

/** Plots the place of the launch on the plane of a course; undefined while either is unknown. */
export const plotLaunch = (
  launch: LaunchMotion,
  course: Course | undefined,
  self: DeviceSnapshot,
  now: number,
): Point | undefined => {
  const place = readLaunch(launch, self, now)
  return place && course && [...course.toPlane(place), 0]
}

const readLaunch = (
  launch: LaunchMotion,
  self: DeviceSnapshot,
  now: number,
): [x: number, y: number] | undefined => {
  const [x, y] = [launch.x, launch.y].map(name => readFreshNumber(self, name, now))
  return x === undefined || y === undefined ? undefined : [x, y]
}

/** True for a motion without a known end. */
const isOpen = ({ path, launch }: PlannedMotion): boolean =>
  path.length === 0 && launch === undefined

/** Positions that a motion passes; undefined for a return to a place that is not known. */
const listGoals = (
  start: Position,
  motion: PlannedMotion | undefined,
  self: DeviceSnapshot,
  now: number,
): readonly Position[] | undefined => {
  if (motion === undefined) return []
  const { path, end_altitude_m, launch } = motion
  if (launch !== undefined) return listReturn(start, launch, self, now)
  if (path.length > 0 || end_altitude_m === undefined) return path
  return [{ ...start, altitude_m: end_altitude_m }]
}

const listReturn = (
  start: Position,
  launch: LaunchMotion,
  self: DeviceSnapshot,
  now: number,
): readonly Position[] | undefined => {
  const { frame } = launch
  const place = readLaunch(launch, self, now)
  if (place === undefined) return undefined
  const [x, y] = place
  const altitude_m = Math.max(start.altitude_m, launch.altitude_m)
  return [
    { ...start, altitude_m },
    { frame, x, y, altitude_m },
    { frame, x, y, altitude_m: 0 },
  ]
}

/** Longest horizontal distance of a motion without a known end from its start. */
const findReach = ({ reach_m, max_speed_m_s, max_duration_s }: PlannedMotion): number =>
  reach_m ?? max_speed_m_s * max_duration_s
