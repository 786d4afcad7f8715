import type { DeviceState } from '../../../shared/wire/device.ts'
import type { MavlinkGoal } from './operations.ts'

/** Distance from the goal at which a vehicle has arrived. */
const ARRIVED_M = 1.5
/** Older readings say nothing of where a vehicle is now. */
const FRESH_MS = 3000
/** Length of one degree of latitude: 60 nautical miles. */
const METRES_PER_DEGREE = 60 * 1852

/** Distance to the goal in metres; undefined while the position is unknown. */
export const measureDistance = (
  readings: DeviceState['readings'],
  goal: MavlinkGoal,
  now: number,
): number | undefined => {
  const read = (name: string): number | undefined => {
    const { value, at = 0 } = readings[name] ?? {}
    return typeof value === 'number' && now - at <= FRESH_MS ? value : undefined
  }
  const altitude_m = read('altitude_m')
  if (altitude_m === undefined) return undefined
  const up = goal.altitude_m - altitude_m
  if (goal.lat === undefined || goal.lon === undefined) return Math.abs(up)
  const [lat, lon] = [read('lat'), read('lon')]
  if (lat === undefined || lon === undefined) return undefined
  const north = (goal.lat - lat) * METRES_PER_DEGREE
  const east = (goal.lon - lon) * METRES_PER_DEGREE * Math.cos((lat * Math.PI) / 180)
  return Math.hypot(north, east, up)
}

export const hasArrived = (distance_m: number | undefined): boolean =>
  distance_m !== undefined && distance_m <= ARRIVED_M
