export type Vector = readonly [x: number, y: number, z: number]

/** Point mass: metres, and metres per second. */
export interface Body {
  position: Vector
  velocity: Vector
}

export interface BodyLimits {
  max_speed_m_s: number
  max_acceleration_m_s2: number
}

/** Distance at which a target counts as reached, and the speed below which a body is at rest. */
const NEAR_M = 0.01
const REST_M_S = 0.02
/** Share of the acceleration that braking plans with, so that steps of finite length suffice. */
const BRAKING_SHARE = 0.7

export const STILL: Vector = [0, 0, 0]

const combine = (a: Vector, b: Vector, scale: number): Vector => [
  a[0] + b[0] * scale,
  a[1] + b[1] * scale,
  a[2] + b[2] * scale,
]

export const subtract = (a: Vector, b: Vector): Vector => combine(a, b, -1)

export const lengthOf = (vector: Vector): number => Math.hypot(...vector)

/** The vector shortened to a length, if it is longer. */
const limitLength = (vector: Vector, most: number): Vector => {
  const length = lengthOf(vector)
  return length <= most ? vector : combine(STILL, vector, most / length)
}

/** Moves a body for a step towards a wanted velocity, within its acceleration. */
export const moveBody = (
  { position, velocity }: Body,
  wanted: Vector,
  { max_speed_m_s, max_acceleration_m_s2 }: BodyLimits,
  seconds: number,
): Body => {
  const target = limitLength(wanted, max_speed_m_s)
  const change = limitLength(subtract(target, velocity), max_acceleration_m_s2 * seconds)
  const next = combine(velocity, change, 1)
  return { position: combine(position, next, seconds), velocity: next }
}

/** Velocity that leads to a target without passing it. */
export const steerTo = (
  { position }: Body,
  target: Vector,
  speed_m_s: number,
  { max_acceleration_m_s2 }: BodyLimits,
  seconds: number,
): Vector => {
  const way = subtract(target, position)
  const distance = lengthOf(way)
  if (distance === 0) return STILL
  const braking = Math.sqrt(2 * BRAKING_SHARE * max_acceleration_m_s2 * distance)
  return combine(STILL, way, Math.min(speed_m_s, braking, distance / seconds) / distance)
}

export const isAtRest = ({ velocity }: Body): boolean => lengthOf(velocity) < REST_M_S

export const hasReached = (body: Body, target: Vector): boolean =>
  isAtRest(body) && lengthOf(subtract(target, body.position)) < NEAR_M
