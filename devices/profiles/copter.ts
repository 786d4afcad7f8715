import * as z from 'zod'
import { CRITICAL_GATE } from '../../shared/wire/plan-part.ts'
import { Altitude, createGoToVerb } from '../links/mavlink/go-to-verb.ts'
import {
  ARMED,
  DISARMED,
  IN_AIR,
  NAVIGABLE,
  ON_GROUND,
  READY_TO_ARM,
} from '../links/mavlink/interlocks.ts'
import {
  createArmCommand,
  createModeCommand,
  createTakeOffCommand,
  type MavlinkOperation,
} from '../links/mavlink/operations.ts'
import { LANDED, REST, VEHICLE_PROPERTIES } from '../links/mavlink/properties.ts'
import {
  createArmVerbs,
  createHaltVerb,
  createHoldVerbs,
  createModeVerb,
  createPlan,
  createReturnVerb,
  DRIFT_M,
  MOVE_TIMEOUT_S,
  type PlannedVehicle,
  readVehicle,
} from '../links/mavlink/verbs.ts'
import { type DevicePlan, defineProfile, defineVerb } from '../profile.ts'

/** Default of `WPNAV_SPEED_UP` of ArduPilot is 2.5 m/s. */
const CLIMB_M_S = 3
/** Height from which a climb has reached its altitude: half a metre, or a tenth of it. */
const CLIMB_WITHIN_M = 0.5
const CLIMB_WITHIN_SHARE = 0.1

const LANDING = { kind: 'landed' } as const
const AT_ESTOP = { atEstop: 'land' } as const

const planClimb = (
  vehicle: PlannedVehicle,
  operations: MavlinkOperation[],
  altitude_m: number,
): DevicePlan =>
  createPlan(vehicle, {
    operations,
    motion: {
      path: [],
      max_speed_m_s: CLIMB_M_S,
      max_duration_s: MOVE_TIMEOUT_S,
      reach_m: DRIFT_M,
      end_altitude_m: altitude_m,
    },
    bounds: {
      goal: {
        kind: 'altitude',
        altitude_m,
        within_m: Math.max(CLIMB_WITHIN_M, altitude_m * CLIMB_WITHIN_SHARE),
      },
      modes: [...vehicle.traits.takingOff],
    },
  })

/** ArduPilot takes off in guided flight only; PX4 changes the mode itself. */
const listGuiding = ({ autopilot, target, traits }: PlannedVehicle): MavlinkOperation[] =>
  autopilot === 'px4' ? [] : [createModeCommand(target, traits.guided)]

/** Multirotor or helicopter with ArduPilot or PX4, in guided flight. */
export default defineProfile({
  id: 'copter',
  title: 'Multirotor with ArduPilot or PX4',
  kind: 'drone',
  link: 'mavlink',
  properties: VEHICLE_PROPERTIES,
  verbs: {
    ...createArmVerbs('Anybody near the propellers is in danger.', AT_ESTOP),
    launch: defineVerb({
      description: 'Start the motors, rise to an altitude above the place of take-off, and hover.',
      params: z.strictObject({ altitude_m: Altitude }),
      hazard: 'unsafe',
      gate: CRITICAL_GATE,
      isIdempotent: false,
      timeoutSeconds: MOVE_TIMEOUT_S,
      interlocks: [...NAVIGABLE, READY_TO_ARM, DISARMED, ON_GROUND],
      ...AT_ESTOP,
      plan: ({ altitude_m }, target) => {
        const vehicle = readVehicle(target)
        const operations = [
          ...listGuiding(vehicle),
          createArmCommand(vehicle.target, true),
          createTakeOffCommand(vehicle.target, altitude_m),
        ]
        return planClimb(vehicle, operations, altitude_m)
      },
    }),
    'take-off': defineVerb({
      description: 'Rise to an altitude above the place of take-off, and hover.',
      params: z.strictObject({ altitude_m: Altitude }),
      hazard: 'unsafe',
      isIdempotent: false,
      timeoutSeconds: MOVE_TIMEOUT_S,
      interlocks: [...NAVIGABLE, ARMED, ON_GROUND],
      ...AT_ESTOP,
      plan: ({ altitude_m }, target) => {
        const vehicle = readVehicle(target)
        const takeOff = createTakeOffCommand(vehicle.target, altitude_m)
        return planClimb(vehicle, [...listGuiding(vehicle), takeOff], altitude_m)
      },
    }),
    'go-to': createGoToVerb({
      description: 'Fly in a straight line to a position, and hover there.',
      maxSpeed_m_s: 20,
      usualSpeed_m_s: 5,
      within_m: 1.5,
      hasAltitude: true,
      interlocks: [...NAVIGABLE, ARMED, IN_AIR],
      ...AT_ESTOP,
    }),
    'set-mode': createModeVerb('copter', AT_ESTOP, LANDING),
    'return-to-launch': createReturnVerb(
      'Fly back to the place of take-off and land there.',
      AT_ESTOP,
      () => LANDING,
    ),
    land: createHaltVerb('Land where it is.', ({ traits }) => traits.land, LANDING),
    ...createHoldVerbs('Brake and hover; land where it cannot hold its position.'),
  },
  envelope: {
    max_state_age_ms: 5000,
    min_battery_to_start_percent: 30,
    min_battery_to_continue_percent: 20,
  },
  atEstop: 'land',
  rest: REST,
  landed: LANDED,
})
