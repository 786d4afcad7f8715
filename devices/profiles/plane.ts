import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { Altitude, createGoToVerb } from '../links/mavlink/go-to-verb.ts'
import { ARMED, IN_AIR, NAVIGABLE, ON_GROUND } from '../links/mavlink/interlocks.ts'
import { createModeCommand, createTakeOffCommand } from '../links/mavlink/operations.ts'
import { LANDED, REST, VEHICLE_PROPERTIES } from '../links/mavlink/properties.ts'
import {
  createArmVerbs,
  createHaltVerb,
  createHoldVerbs,
  createModeVerb,
  createPlan,
  createReturnVerb,
  MOVE_TIMEOUT_S,
  type PlannedVehicle,
  readVehicle,
} from '../links/mavlink/verbs.ts'
import { defineProfile, defineVerb } from '../profile.ts'

/** Distance at which a plane counts as circling a place: loiter radii are 50 to 100 m. */
const CIRCLE_WITHIN_M = 150
const CLIMB_M_S = 25

const AT_ESTOP = { atEstop: 'hold' } as const
const LANDING = { kind: 'landed' } as const
const CIRCLING = { kind: 'launch', within_m: CIRCLE_WITHIN_M, is_circling: true } as const

/** A quadplane returns and lands; a plane returns and circles. */
const chooseReturn = ({ can_hover, autopilot }: PlannedVehicle) =>
  can_hover && autopilot === 'ardupilot' ? LANDING : CIRCLING

/** Plane, quadplane or other VTOL aircraft with ArduPilot or PX4. */
export default defineProfile({
  id: 'plane',
  title: 'Plane or VTOL aircraft with ArduPilot or PX4',
  kind: 'drone',
  link: 'mavlink',
  properties: VEHICLE_PROPERTIES,
  verbs: {
    ...createArmVerbs('Anybody near the propellers is in danger.', AT_ESTOP),
    'take-off': defineVerb({
      description: 'Rise vertically to an altitude, and hover; only for aircraft that can hover.',
      params: z.strictObject({ altitude_m: Altitude }),
      hazard: 'unsafe',
      isIdempotent: false,
      timeoutSeconds: MOVE_TIMEOUT_S,
      interlocks: [...NAVIGABLE, ARMED, ON_GROUND],
      ...AT_ESTOP,
      plan: ({ altitude_m }, target) => {
        const vehicle = readVehicle(target)
        if (!vehicle.can_hover)
          throw new ShoalError('invalid_request', 'this plane takes off by set-mode takeoff only')
        const guiding =
          vehicle.autopilot === 'px4'
            ? []
            : [createModeCommand(vehicle.target, vehicle.traits.guided)]
        return createPlan(vehicle, {
          operations: [...guiding, createTakeOffCommand(vehicle.target, altitude_m)],
          motion: {
            path: [],
            max_speed_m_s: CLIMB_M_S,
            max_duration_s: MOVE_TIMEOUT_S,
            end_altitude_m: altitude_m,
          },
          bounds: {
            goal: { kind: 'altitude', altitude_m, within_m: Math.max(2, altitude_m / 10) },
            modes: [...vehicle.traits.takingOff],
          },
        })
      },
    }),
    'go-to': createGoToVerb({
      description: 'Fly to a position, and circle there.',
      maxSpeed_m_s: 60,
      usualSpeed_m_s: 18,
      within_m: CIRCLE_WITHIN_M,
      hasAltitude: true,
      isCircling: true,
      interlocks: [...NAVIGABLE, ARMED, IN_AIR],
      ...AT_ESTOP,
    }),
    'set-mode': createModeVerb('plane', AT_ESTOP, CIRCLING),
    'return-to-launch': createReturnVerb(
      'Fly back to the place of take-off; a quadplane lands there, a plane circles.',
      AT_ESTOP,
      chooseReturn,
    ),
    land: createHaltVerb(
      'Land vertically where it is; only for aircraft that can hover.',
      ({ traits, can_hover }) => (can_hover ? traits.land : []),
      LANDING,
    ),
    ...createHoldVerbs('Circle where it is, or hover where it can.'),
  },
  envelope: {
    max_state_age_ms: 5000,
    min_battery_to_start_percent: 40,
    min_battery_to_continue_percent: 25,
  },
  atEstop: 'hold',
  rest: REST,
  landed: LANDED,
})
