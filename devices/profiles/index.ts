import type { DeviceProfile } from '../profile.ts'
import bambuPrinter from './bambu-printer.ts'
import copter from './copter.ts'
import ros2Robot from './ros2-robot.ts'
import simDrone from './sim-drone.ts'
import simPrinter from './sim-printer.ts'
import simRover from './sim-rover.ts'
import simSwitch from './sim-switch.ts'

/** Profiles that this build knows; one import line each, sorted. */
export const PROFILES: readonly DeviceProfile[] = [
  bambuPrinter,
  copter,
  ros2Robot,
  simDrone,
  simPrinter,
  simRover,
  simSwitch,
]

const BY_ID: ReadonlyMap<string, DeviceProfile> = new Map(PROFILES.map(one => [one.id, one]))

export const findProfile = (id: string): DeviceProfile | undefined => BY_ID.get(id)
