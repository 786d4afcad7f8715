/** Length of a move, and the limits of the unit that makes it. */
export interface LimitedMove {
  length_m: number
  /** Speed below which the unit cannot move evenly. */
  min_speed_m_s: number
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
  const rate = Math.min(...moving.map(({ length_m, max_speed_m_s }) => max_speed_m_s / length_m))
  const acceleration = Math.min(
    ...moving.map(({ length_m, max_acceleration_m_s2 }) => max_acceleration_m_s2 / length_m),
  )
  return scaleOf(rate, acceleration)
}

/** Time scale with a peak rate in shares per second, and its acceleration. */
const scaleOf = (rate: number, acceleration: number): TimeScale => {
  const ramp_s = rate / acceleration
  if (rate * ramp_s < 1) return { duration_s: 1 / rate + ramp_s, ramp_s }
  const half_s = Math.sqrt(1 / acceleration)
  return { duration_s: 2 * half_s, ramp_s: half_s }
}

/** Share of the path that a unit has passed after a time, from 0 to 1. */
export const shareAt = ({ duration_s, ramp_s }: TimeScale, seconds: number): number => {
  if (duration_s === 0 || seconds >= duration_s) return 1
  if (seconds <= 0) return 0
  const rate = 1 / (duration_s - ramp_s)
  const left = duration_s - seconds
  if (seconds < ramp_s) return (rate * seconds ** 2) / (2 * ramp_s)
  if (left < ramp_s) return 1 - (rate * left ** 2) / (2 * ramp_s)
  return rate * (seconds - ramp_s / 2)
}

/** How a unit follows the common time scale: it knows only a speed, and its own acceleration. */
export interface Pace {
  speed_m_s: number
  /** Delay of its start after that of the time scale. */
  delay_s: number
  /** Time scale of the unit itself. */
  own: TimeScale
  /** Largest distance from the place that the common time scale gives it. */
  deviation_m: number
}

/**
 * Pace of a unit at constant speed between ramps of its own. Both motions are symmetric about the
 * same moment: a unit that can follow the time scale is off by at most an eighth of the difference
 * of the ramps, and one that is too fast for it by less than what it has to catch up with.
 */
export const createPace = (move: LimitedMove, scale: TimeScale): Pace => {
  const { length_m, min_speed_m_s, max_speed_m_s, max_acceleration_m_s2 } = move
  if (length_m === 0)
    return { speed_m_s: 0, delay_s: 0, own: { duration_s: 0, ramp_s: 0 }, deviation_m: 0 }
  const wanted_m_s = length_m / (scale.duration_s - scale.ramp_s)
  const speed_m_s = Math.max(wanted_m_s, Math.min(min_speed_m_s, max_speed_m_s))
  const own = scaleOf(speed_m_s / length_m, max_acceleration_m_s2 / length_m)
  const delay_s = Math.max(0, (scale.duration_s - own.duration_s) / 2)
  const lag_m =
    speed_m_s > wanted_m_s
      ? length_m * shareAt(scale, delay_s + own.ramp_s)
      : (wanted_m_s * Math.max(0, scale.ramp_s - own.ramp_s)) / 8
  return { speed_m_s, delay_s, own, deviation_m: lag_m }
}
