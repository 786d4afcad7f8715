import type { DeviceState } from '../../../shared/wire/device.ts'
import { createProjection } from '../../envelope/plane.ts'
import type { MavlinkGoal } from './goal.ts'

/** Newest readings of a vehicle since a time. */
interface RecentReadings {
  readings: DeviceState['readings']
  /** Unix time in milliseconds; older readings say nothing of where it is now. */
  since: number
}

const readNumber = ({ readings, since }: RecentReadings, name: string): number | undefined => {
  const { value, at = 0 } = readings[name] ?? {}
  return typeof value === 'number' && at >= since ? value : undefined
}

/** Distance to the goal in metres; undefined while a position is unknown, or for a goal without place. */
export const measureDistance = (recent: RecentReadings, goal: MavlinkGoal): number | undefined => {
  const altitude_m = readNumber(recent, 'altitude_m')
  switch (goal.kind) {
    case 'altitude':
      return altitude_m === undefined ? undefined : Math.abs(goal.altitude_m - altitude_m)
    case 'position': {
      const across_m = measureAcross(recent, goal.lat, goal.lon)
      if (across_m === undefined || goal.altitude_m === undefined) return across_m
      return altitude_m === undefined
        ? undefined
        : Math.hypot(across_m, goal.altitude_m - altitude_m)
    }
    case 'launch': {
      // the launch stays where it is, and comes every few seconds only
      const always = { ...recent, since: 0 }
      const [lat, lon] = [readNumber(always, 'launch_lat'), readNumber(always, 'launch_lon')]
      return lat === undefined || lon === undefined ? undefined : measureAcross(recent, lat, lon)
    }
    default:
      return undefined
  }
}

const measureAcross = (
  recent: RecentReadings,
  goalLat: number,
  goalLon: number,
): number | undefined => {
  const [lat, lon] = [readNumber(recent, 'lat'), readNumber(recent, 'lon')]
  if (lat === undefined || lon === undefined) return undefined
  const [east_m, north_m] = createProjection('wgs84', [lat, lon])([goalLat, goalLon])
  return Math.hypot(east_m, north_m)
}
