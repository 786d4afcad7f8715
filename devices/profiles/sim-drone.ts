import * as z from 'zod'
import { CRITICAL_GATE } from '../../shared/wire/plan-part.ts'
import { DRONE, MAX_ALTITUDE_M, MAX_COORDINATE_M } from '../links/sim/operations.ts'
import {
  chooseMotionGate,
  createHaltVerb,
  createPlainVerb,
  EXECUTED_COUNT,
  limitMotion,
  listOperations,
  OVERRIDE_GEOFENCE,
  RESTS_BY_SPEED,
} from '../links/sim/verbs.ts'
import { defineProfile, defineVerb, type PlannedMotion } from '../profile.ts'
import { SHARED_PROPERTIES } from '../properties.ts'

const Coordinate = z.number().min(-MAX_COORDINATE_M).max(MAX_COORDINATE_M)
const Altitude = z.number().min(1).max(MAX_ALTITUDE_M)
const Speed = z.number().min(0.1).max(DRONE.max_speed_m_s)
const FLIGHT_TIMEOUT_S = 600
const CLIMB_M_S = 1

const motionOf = (path: PlannedMotion['path'], max_speed_m_s: number): PlannedMotion => ({
  path,
  max_speed_m_s,
  max_acceleration_m_s2: DRONE.max_acceleration_m_s2,
  max_duration_s: FLIGHT_TIMEOUT_S,
})

/** Aircraft that two persons arm before it takes off. */
export default defineProfile({
  id: 'sim-drone',
  title: 'Simulated drone',
  kind: 'drone',
  link: 'sim',
  properties: {
    battery_percent: SHARED_PROPERTIES.battery_percent,
    x_m: SHARED_PROPERTIES.x_m,
    y_m: SHARED_PROPERTIES.y_m,
    altitude_m: SHARED_PROPERTIES.altitude_m,
    speed_m_s: SHARED_PROPERTIES.speed_m_s,
    heading_degrees: SHARED_PROPERTIES.heading_degrees,
    is_docked: { title: 'On its pad', type: 'boolean', stale_after_ms: 5000 },
    is_armed: { title: 'Armed', type: 'boolean', stale_after_ms: 5000 },
    is_flying: { title: 'Flying', type: 'boolean', stale_after_ms: 5000 },
    executed_count: EXECUTED_COUNT,
  },
  verbs: {
    arm: createPlainVerb(
      { op: 'arm' },
      {
        description: 'Arms the motors.',
        hazard: 'unsafe',
        gate: CRITICAL_GATE,
        isIdempotent: true,
        timeoutSeconds: 30,
        interlocks: [{ name: 'on_ground', property: 'is_flying', allowed: [false] }],
        atEstop: 'cut',
      },
    ),
    'take-off': defineVerb({
      description: 'Rises to an altitude above the place of take-off, and hovers.',
      params: z.strictObject({ altitude_m: Altitude }),
      hazard: 'unsafe',
      isIdempotent: false,
      timeoutSeconds: FLIGHT_TIMEOUT_S,
      interlocks: [
        { name: 'armed', property: 'is_armed', allowed: [true] },
        { name: 'on_ground', property: 'is_flying', allowed: [false] },
      ],
      atEstop: 'land',
      plan: ({ altitude_m }) => ({
        operations: listOperations({ op: 'take-off', altitude_m, speed_m_s: CLIMB_M_S }),
        motion: { ...motionOf([], CLIMB_M_S), reach_m: 0, end_altitude_m: altitude_m },
      }),
    }),
    'go-to': defineVerb({
      description: 'Flies in a straight line to a position, and hovers there.',
      params: z.strictObject({
        x_m: Coordinate,
        y_m: Coordinate,
        altitude_m: Altitude,
        speed_m_s: Speed.default(2),
        override_geofence: OVERRIDE_GEOFENCE,
      }),
      hazard: 'unsafe',
      gateOf: chooseMotionGate,
      isIdempotent: true,
      timeoutSeconds: FLIGHT_TIMEOUT_S,
      interlocks: [{ name: 'flying', property: 'is_flying', allowed: [true] }],
      atEstop: 'land',
      plan: ({ x_m, y_m, altitude_m, speed_m_s, override_geofence }) => ({
        operations: listOperations({ op: 'go', x_m, y_m, altitude_m, speed_m_s }),
        motion: motionOf([{ frame: 'local', x: x_m, y: y_m, altitude_m }], speed_m_s),
        bounds: limitMotion({ override_geofence }),
      }),
    }),
    land: createHaltVerb('Lands where it is, and disarms.', 'land'),
    hold: createHaltVerb('Brakes and hovers; on the ground it disarms.', 'hold'),
    stop: createHaltVerb('Brakes and hovers; on the ground it disarms.', 'hold'),
  },
  envelope: {
    ...DRONE,
    geofences: [{ frame: 'local', min_altitude_m: 0, max_altitude_m: MAX_ALTITUDE_M }],
    max_state_age_ms: 5000,
    min_battery_to_start_percent: 30,
    min_battery_to_continue_percent: 15,
  },
  atEstop: 'land',
  rest: RESTS_BY_SPEED,
  landed: [[{ property: 'is_flying', allowed: [false] }]],
})
