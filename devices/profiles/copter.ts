import * as z from 'zod'
import { CRITICAL_GATE } from '../../shared/wire/plan-part.ts'
import { COPTER_MODES, type CopterMode, FIXES_3D } from '../links/mavlink/names.ts'
import {
  createArmCommand,
  createGoToCommand,
  createLandCommand,
  createModeCommand,
  createReturnCommand,
  createSpeedCommand,
  createTakeOffCommand,
  type MavlinkOperation,
} from '../links/mavlink/operations.ts'
import { VEHICLE_PROPERTIES } from '../links/mavlink/properties.ts'
import { createHaltVerb, createPlainVerb, targetOf } from '../links/mavlink/verbs.ts'
import { type DevicePlan, defineProfile, defineVerb, type PlanTarget } from '../profile.ts'

/** Default of `WPNAV_SPEED_UP` of ArduPilot is 2.5 m/s. */
const CLIMB_M_S = 3
/** Horizontal distance from its start that wind may move a climbing vehicle. */
const DRIFT_M = 3
const MAX_SPEED_M_S = 20
const FLIGHT_TIMEOUT_S = 900
/** Speed of a vehicle that hovers in wind. */
const RESTING_M_S = 0.5

const GPS_FIX = { name: 'gps_fix', property: 'gps_fix', allowed: FIXES_3D }
const ARMED = { name: 'armed', property: 'is_armed', allowed: [true] }
const DISARMED = { name: 'disarmed', property: 'is_armed', allowed: [false] }
const ARDUPILOT = { name: 'autopilot', property: 'autopilot', allowed: ['ardupilot'] }
/** Altitudes on the ground are some decimetres off. */
const ON_GROUND = { name: 'on_ground', property: 'altitude_m', max: 1 }
const IN_AIR = { name: 'in_air', property: 'altitude_m', min: 1 }

const Altitude = z.number().min(2).max(500)
const Mode = z.enum(Object.keys(COPTER_MODES) as [CopterMode, ...CopterMode[]])

/** Modes that end a motion; every other one hands the vehicle to a pilot, a mission or its own way. */
const ENDING_MODES: readonly CopterMode[] = ['brake', 'land', 'rtl']

const ReturnOptions = z.object({
  return_altitude_m: z.number().default(15),
  return_speed_m_s: z.number().default(10),
})

/** A return is over once the vehicle has landed at its launch. */
const planReturn = (operation: MavlinkOperation, { options }: PlanTarget): DevicePlan => {
  const { return_altitude_m, return_speed_m_s } = ReturnOptions.parse(options)
  return {
    operations: [operation],
    motion: {
      path: [],
      launch: { frame: 'wgs84', x: 'launch_lat', y: 'launch_lon', altitude_m: return_altitude_m },
      max_speed_m_s: return_speed_m_s,
      max_duration_s: FLIGHT_TIMEOUT_S,
      // what hovers with a low battery falls
      waives: ['battery_percent'],
    },
    bounds: { goal: { altitude_m: 0, mode: 'rtl' } },
  }
}

/** Multirotor with ArduPilot, in guided flight. */
export default defineProfile({
  id: 'copter',
  title: 'Multirotor with ArduPilot',
  kind: 'drone',
  link: 'mavlink',
  properties: VEHICLE_PROPERTIES,
  verbs: {
    arm: createPlainVerb(target => createArmCommand(target, true), {
      description: 'Start the motors. Anybody near the propellers is in danger.',
      hazard: 'unsafe',
      gate: CRITICAL_GATE,
      interlocks: [ARDUPILOT, GPS_FIX, DISARMED, ON_GROUND],
    }),
    disarm: createPlainVerb(target => createArmCommand(target, false), {
      description: 'Stop the motors on the ground; the autopilot refuses it in flight.',
      hazard: 'unsafe',
      gate: CRITICAL_GATE,
      interlocks: [ON_GROUND],
    }),
    'take-off': defineVerb({
      description: 'Rise to an altitude above the place of take-off, and hover.',
      params: z.strictObject({ altitude_m: Altitude }),
      hazard: 'unsafe',
      isIdempotent: false,
      timeoutSeconds: FLIGHT_TIMEOUT_S,
      interlocks: [ARDUPILOT, GPS_FIX, ARMED, ON_GROUND],
      atEstop: 'land',
      plan: ({ altitude_m }, target) => ({
        operations: [
          createModeCommand(targetOf(target), 'guided'),
          createTakeOffCommand(targetOf(target), altitude_m),
        ],
        motion: {
          path: [],
          max_speed_m_s: CLIMB_M_S,
          max_duration_s: FLIGHT_TIMEOUT_S,
          reach_m: DRIFT_M,
          end_altitude_m: altitude_m,
        },
        bounds: { goal: { altitude_m } },
      }),
    }),
    'go-to': defineVerb({
      description: 'Fly in a straight line to a position, and hover there.',
      params: z.strictObject({
        lat: z.number().min(-90).max(90).describe('Latitude in degrees, WGS 84.'),
        lon: z.number().min(-180).max(180).describe('Longitude in degrees, WGS 84.'),
        altitude_m: Altitude.describe('Altitude above the place of take-off.'),
        speed_m_s: z.number().min(0.5).max(MAX_SPEED_M_S).default(5).describe('Ground speed.'),
        override_geofence: z
          .boolean()
          .default(false)
          .describe('Fly although a geofence forbids it; two persons must approve.'),
      }),
      hazard: 'unsafe',
      gateOf: ({ override_geofence }) => (override_geofence ? CRITICAL_GATE : undefined),
      isIdempotent: true,
      timeoutSeconds: FLIGHT_TIMEOUT_S,
      interlocks: [ARDUPILOT, GPS_FIX, ARMED, IN_AIR],
      atEstop: 'land',
      plan: ({ lat, lon, altitude_m, speed_m_s, override_geofence }, target) => ({
        // a change of the mode resets the speed, and the speed must be set before the motion
        operations: [
          createModeCommand(targetOf(target), 'guided'),
          createSpeedCommand(targetOf(target), speed_m_s),
          createGoToCommand(targetOf(target), { lat, lon, altitude_m }),
        ],
        motion: {
          path: [{ frame: 'wgs84', x: lat, y: lon, altitude_m }],
          max_speed_m_s: speed_m_s,
          max_duration_s: FLIGHT_TIMEOUT_S,
        },
        bounds: { goal: { lat, lon, altitude_m }, override_geofence },
      }),
    }),
    'set-mode': defineVerb({
      description: 'Change the flight mode.',
      params: z.strictObject({ mode: Mode }),
      hazard: 'unsafe',
      hazardOf: ({ mode }) => (ENDING_MODES.includes(mode) ? 'caution' : 'unsafe'),
      hazardRule: `caution for ${ENDING_MODES.join(', ')}, unsafe otherwise`,
      isIdempotent: true,
      timeoutSeconds: FLIGHT_TIMEOUT_S,
      interlocks: [ARDUPILOT],
      atEstop: 'land',
      plan: ({ mode }, target) => {
        const operation = createModeCommand(targetOf(target), mode)
        return mode === 'rtl' ? planReturn(operation, target) : { operations: [operation] }
      },
    }),
    'return-to-launch': defineVerb({
      description: 'Fly back to the place of take-off and land there.',
      params: z.strictObject({}),
      hazard: 'caution',
      isIdempotent: true,
      timeoutSeconds: FLIGHT_TIMEOUT_S,
      interlocks: [GPS_FIX],
      atEstop: 'land',
      plan: (_params, target) => planReturn(createReturnCommand(targetOf(target)), target),
    }),
    land: createHaltVerb('Land where it is.', createLandCommand),
    hold: createHaltVerb('Brake and hover.', target => createModeCommand(target, 'brake')),
    stop: createHaltVerb('Brake and hover.', target => createModeCommand(target, 'brake')),
  },
  envelope: {
    max_state_age_ms: 5000,
    min_battery_to_start_percent: 30,
    min_battery_to_continue_percent: 20,
  },
  atEstop: 'land',
  rest: [
    [DISARMED],
    [
      { property: 'speed_m_s', max: RESTING_M_S },
      { property: 'climb_m_s', min: -RESTING_M_S, max: RESTING_M_S },
    ],
  ],
  landed: [[DISARMED]],
})
