import type { DeviceProfile } from '../profile.ts'
import bambuPrinter from './bambu-printer.ts'
import copter from './copter.ts'
import homeAssistantLight from './home-assistant-light.ts'
import homeAssistantSensor from './home-assistant-sensor.ts'
import homeAssistantSwitch from './home-assistant-switch.ts'
import ros2Robot from './ros2-robot.ts'
import shellySwitch from './shelly-switch.ts'
import simDrone from './sim-drone.ts'
import simPrinter from './sim-printer.ts'
import simRover from './sim-rover.ts'
import simSwitch from './sim-switch.ts'
import tasmotaSwitch from './tasmota-switch.ts'
import zigbeeLight from './zigbee-light.ts'
import zigbeeSensor from './zigbee-sensor.ts'
import zigbeeSwitch from './zigbee-switch.ts'

/** Profiles that this build knows; one import line each, sorted. */
export const PROFILES: readonly DeviceProfile[] = [
  bambuPrinter,
  copter,
  homeAssistantLight,
  homeAssistantSensor,
  homeAssistantSwitch,
  ros2Robot,
  shellySwitch,
  simDrone,
  simPrinter,
  simRover,
  simSwitch,
  tasmotaSwitch,
  zigbeeLight,
  zigbeeSensor,
  zigbeeSwitch,
]

const BY_ID: ReadonlyMap<string, DeviceProfile> = new Map(PROFILES.map(one => [one.id, one]))

export const findProfile = (id: string): DeviceProfile | undefined => BY_ID.get(id)
