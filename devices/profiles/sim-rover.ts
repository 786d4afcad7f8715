import * as z from 'zod'
import { MAX_COORDINATE_M, ROVER } from '../links/sim/operations.ts'
import {
  chooseMotionGate,
  createHaltVerb,
  EXECUTED_COUNT,
  limitMotion,
  listOperations,
  OVERRIDE_GEOFENCE,
  RESTS_BY_SPEED,
  SLOW_M_S,
} from '../links/sim/verbs.ts'
import { defineProfile, defineVerb, type PlannedMotion, type PlanTarget } from '../profile.ts'
import { SHARED_PROPERTIES } from '../properties.ts'

const Coordinate = z.number().min(-MAX_COORDINATE_M).max(MAX_COORDINATE_M)
const Speed = z.number().min(0.05).max(ROVER.max_speed_m_s)
const MOVE_TIMEOUT_S = 600
const DOCK_M_S = 0.2

/** Place of the dock in the addressing of a rover. */
const Addressing = z.object({ dock: z.object({ x_m: Coordinate, y_m: Coordinate }) })

const listDock = ({ options }: PlanTarget): PlannedMotion['path'] => {
  const { dock } = Addressing.safeParse(options).data ?? {}
  return dock === undefined ? [] : [{ frame: 'local', x: dock.x_m, y: dock.y_m, altitude_m: 0 }]
}

const rateSpeed = ({ speed_m_s }: { speed_m_s: number }) =>
  speed_m_s <= SLOW_M_S ? ('caution' as const) : ('unsafe' as const)

const SLOW_RULE = `caution up to ${SLOW_M_S} m/s, unsafe above`

const motionOf = (motion: Pick<PlannedMotion, 'path' | 'max_speed_m_s' | 'max_duration_s'>) => ({
  ...motion,
  max_acceleration_m_s2: ROVER.max_acceleration_m_s2,
})

/** Wheeled robot on the floor of a site. */
export default defineProfile({
  id: 'sim-rover',
  title: 'Simulated rover',
  kind: 'robot',
  link: 'sim',
  properties: {
    battery_percent: SHARED_PROPERTIES.battery_percent,
    x_m: SHARED_PROPERTIES.x_m,
    y_m: SHARED_PROPERTIES.y_m,
    altitude_m: SHARED_PROPERTIES.altitude_m,
    speed_m_s: SHARED_PROPERTIES.speed_m_s,
    heading_degrees: SHARED_PROPERTIES.heading_degrees,
    is_docked: { title: 'Docked', type: 'boolean', stale_after_ms: 5000 },
    executed_count: EXECUTED_COUNT,
  },
  verbs: {
    'move-to': defineVerb({
      description: 'Drives in a straight line to a position, and rests there.',
      params: z.strictObject({
        x_m: Coordinate,
        y_m: Coordinate,
        speed_m_s: Speed.default(0.5),
        override_geofence: OVERRIDE_GEOFENCE,
      }),
      hazard: 'unsafe',
      hazardOf: params => (params.override_geofence ? 'unsafe' : rateSpeed(params)),
      hazardRule: `${SLOW_RULE}; unsafe with override_geofence`,
      gateOf: chooseMotionGate,
      isIdempotent: true,
      timeoutSeconds: MOVE_TIMEOUT_S,
      atEstop: 'hold',
      plan: ({ x_m, y_m, speed_m_s, override_geofence }) => ({
        operations: listOperations({ op: 'go', x_m, y_m, altitude_m: 0, speed_m_s }),
        motion: motionOf({
          path: [{ frame: 'local', x: x_m, y: y_m, altitude_m: 0 }],
          max_speed_m_s: speed_m_s,
          max_duration_s: MOVE_TIMEOUT_S,
        }),
        bounds: limitMotion({ override_geofence }),
      }),
    }),
    drive: defineVerb({
      description: 'Drives in a direction for a bounded time, then brakes.',
      params: z.strictObject({
        heading_degrees: z.number().min(0).max(360),
        speed_m_s: Speed,
        duration_s: z.number().min(0.1).max(30),
      }),
      hazard: 'unsafe',
      hazardOf: rateSpeed,
      hazardRule: SLOW_RULE,
      isIdempotent: false,
      timeoutSeconds: 60,
      atEstop: 'hold',
      plan: params => ({
        operations: listOperations({ op: 'drive', ...params }),
        motion: motionOf({
          path: [],
          max_speed_m_s: params.speed_m_s,
          max_duration_s: params.duration_s,
        }),
      }),
    }),
    dock: defineVerb({
      description: 'Drives slowly to the dock and charges.',
      params: z.strictObject({}),
      hazard: 'caution',
      isIdempotent: true,
      timeoutSeconds: MOVE_TIMEOUT_S,
      atEstop: 'hold',
      plan: (_params, target) => ({
        operations: listOperations({ op: 'dock', speed_m_s: DOCK_M_S }),
        motion: motionOf({
          path: listDock(target),
          max_speed_m_s: DOCK_M_S,
          max_duration_s: MOVE_TIMEOUT_S,
        }),
      }),
    }),
    stop: createHaltVerb('Stops at once.', 'hold'),
    hold: createHaltVerb('Stops and stays in place.', 'hold'),
  },
  envelope: {
    ...ROVER,
    max_state_age_ms: 5000,
    min_battery_to_start_percent: 20,
    min_battery_to_continue_percent: 10,
  },
  atEstop: 'hold',
  rest: RESTS_BY_SPEED,
})
