import type { DeviceProfile } from '../profile.ts'
import bambuPrinter from './bambu-printer.ts'
import copter from './copter.ts'
import homeAssistantCover from './home-assistant-cover.ts'
import homeAssistantEntrance from './home-assistant-entrance.ts'
import homeAssistantLight from './home-assistant-light.ts'
import homeAssistantLock from './home-assistant-lock.ts'
import homeAssistantSensor from './home-assistant-sensor.ts'
import homeAssistantSiren from './home-assistant-siren.ts'
import homeAssistantSwitch from './home-assistant-switch.ts'
import mavlinkVehicle from './mavlink-vehicle.ts'
import plane from './plane.ts'
import ros2Robot from './ros2-robot.ts'
import rover from './rover.ts'
import shellyCover from './shelly-cover.ts'
import shellyLight from './shelly-light.ts'
import shellySwitch from './shelly-switch.ts'
import simDrone from './sim-drone.ts'
import simPrinter from './sim-printer.ts'
import simRover from './sim-rover.ts'
import simSwitch from './sim-switch.ts'
import sub from './sub.ts'
import tasmotaCover from './tasmota-cover.ts'
import tasmotaSwitch from './tasmota-switch.ts'
import zigbeeCover from './zigbee-cover.ts'
import zigbeeLight from './zigbee-light.ts'
import zigbeeLock from './zigbee-lock.ts'
import zigbeeSensor from './zigbee-sensor.ts'
import zigbeeSiren from './zigbee-siren.ts'
import zigbeeSwitch from './zigbee-switch.ts'

/** Profiles that this build knows; one import line each, sorted. */
export const PROFILES: readonly DeviceProfile[] = [
  bambuPrinter,
  copter,
  homeAssistantCover,
  homeAssistantEntrance,
  homeAssistantLight,
  homeAssistantLock,
  homeAssistantSensor,
  homeAssistantSiren,
  homeAssistantSwitch,
  mavlinkVehicle,
  plane,
  ros2Robot,
  rover,
  shellyCover,
  shellyLight,
  shellySwitch,
  simDrone,
  simPrinter,
  simRover,
  simSwitch,
  sub,
  tasmotaCover,
  tasmotaSwitch,
  zigbeeCover,
  zigbeeLight,
  zigbeeLock,
  zigbeeSensor,
  zigbeeSiren,
  zigbeeSwitch,
]
