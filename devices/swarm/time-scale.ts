/** Length of a move, and the limits of the unit that makes it. */
export interface LimitedMove {
  length_m: number
  max_speed_m_s: number
  max_acceleration_m_s2: number
}

/** Common time scale of synchronised moves: acceleration, constant speed, braking. */
export interface TimeScale {
  duration_s: number
  /** Time of the acceleration, and of the braking. */
  ramp_s: number
}

/**
 * Shortest time scale in which no unit exceeds its own limits. Every unit is at the same share of
 * its path at every moment, so that the distances between them follow from the straight paths.
 */
export const createTimeScale = (moves: readonly LimitedMove[]): TimeScale => {
  const moving = moves.filter(({ length_m }) => length_m > 0)
  if (moving.length === 0) return { duration_s: 0, ramp_s: 0 }
  const speed = Math.min(...moving.map(({ length_m, max_speed_m_s }) => max_speed_m_s / length_m))
  const acceleration = Math.min(
    ...moving.map(({ length_m, max_acceleration_m_s2 }) => max_acceleration_m_s2 / length_m),
  )
  const ramp_s = speed / acceleration
  if (speed * ramp_s < 1) return { duration_s: 1 / speed + ramp_s, ramp_s }
  const half_s = Math.sqrt(1 / acceleration)
  return { duration_s: 2 * half_s, ramp_s: half_s }
}

/** Share of the path that a unit has passed after a time, from 0 to 1. */
export const shareAt = ({ duration_s, ramp_s }: TimeScale, seconds: number): number => {
  if (duration_s === 0 || seconds >= duration_s) return 1
  if (seconds <= 0) return 0
  const speed = 1 / (duration_s - ramp_s)
  const left = duration_s - seconds
  if (seconds < ramp_s) return (speed * seconds ** 2) / (2 * ramp_s)
  if (left < ramp_s) return 1 - (speed * left ** 2) / (2 * ramp_s)
  return speed * (seconds - ramp_s / 2)
}
