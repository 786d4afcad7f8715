import type { PropertyFacts } from '../../../shared/wire/device.ts'
import type { RestConditions } from '../../profile.ts'
import { SHARED_PROPERTIES } from '../../properties.ts'

const STATE_AGE_MS = 5000
/** The launch comes every five seconds. */
const LAUNCH_AGE_MS = 35_000
const WARNING_AGE_MS = 600_000
const TAKE_OVER_AGE_MS = 86_400_000

const createText = (title: string, stale_after_ms = STATE_AGE_MS): PropertyFacts => ({
  title,
  type: 'text',
  stale_after_ms,
})

const createNumber = (title: string, unit?: string): PropertyFacts => ({
  title,
  type: 'number',
  ...(unit === undefined ? {} : { unit }),
  stale_after_ms: STATE_AGE_MS,
})

const createFlag = (title: string, stale_after_ms = STATE_AGE_MS): PropertyFacts => ({
  title,
  type: 'boolean',
  stale_after_ms,
})

/** Readings of a vehicle that speaks MAVLink. */
export const VEHICLE_PROPERTIES: Readonly<Record<string, PropertyFacts>> = {
  battery_percent: SHARED_PROPERTIES.battery_percent,
  lat: SHARED_PROPERTIES.lat,
  lon: SHARED_PROPERTIES.lon,
  altitude_m: SHARED_PROPERTIES.altitude_m,
  speed_m_s: SHARED_PROPERTIES.speed_m_s,
  heading_degrees: SHARED_PROPERTIES.heading_degrees,
  link_quality_percent: SHARED_PROPERTIES.link_quality_percent,
  battery_volts: { ...createNumber('Battery voltage', 'V'), stale_after_ms: 60_000 },
  climb_m_s: createNumber('Climb rate', 'm/s'),
  roll_degrees: createNumber('Roll', '°'),
  pitch_degrees: createNumber('Pitch', '°'),
  satellites: createNumber('Satellites'),
  hdop: createNumber('Horizontal dilution of precision'),
  is_armed: createFlag('Armed'),
  is_ready_to_arm: createFlag('Checks before arming passed'),
  is_ekf_healthy: createFlag('Position filter healthy'),
  is_fence_breached: createFlag('Fence of the autopilot breached'),
  is_taken_over: createFlag('Mode changed by a pilot or a failsafe', TAKE_OVER_AGE_MS),
  landed_state: createText('On the ground or in the air'),
  mode: createText('Flight mode'),
  autopilot: createText('Autopilot'),
  vehicle_type: createText('Type of vehicle'),
  system_status: createText('System status'),
  gps_fix: createText('GPS fix'),
  launch_lat: { ...createNumber('Latitude of the launch', '°'), stale_after_ms: LAUNCH_AGE_MS },
  launch_lon: { ...createNumber('Longitude of the launch', '°'), stale_after_ms: LAUNCH_AGE_MS },
  launch_altitude_amsl_m: {
    ...createNumber('Altitude of the launch above sea level', 'm'),
    stale_after_ms: LAUNCH_AGE_MS,
  },
  warning: createText('Last warning', WARNING_AGE_MS),
}

/** Speeds that the position filter reports of a vehicle at rest. */
const REST_M_S = 0.5
const REST_CLIMB_M_S = 0.3

const IS_DISARMED = { property: 'is_armed', allowed: [false] } as const

/** Readings of a vehicle at rest: it hovers or stands, or its motors are off on the ground. */
export const REST: RestConditions = [
  [
    { property: 'speed_m_s', max: REST_M_S },
    { property: 'climb_m_s', min: -REST_CLIMB_M_S, max: REST_CLIMB_M_S },
  ],
  [IS_DISARMED, { property: 'landed_state', allowed: ['on_ground'] }],
]

/** Readings of a vehicle on the ground; autopilots disarm there, and only there. */
export const LANDED: RestConditions = [[IS_DISARMED]]

const { altitude_m: _, climb_m_s: __, landed_state: ___, ...onGround } = VEHICLE_PROPERTIES

/** Readings of a vehicle that stays on the ground: its altitude is that of the floor. */
export const GROUND_PROPERTIES: Readonly<Record<string, PropertyFacts>> = onGround

export const GROUND_REST: RestConditions = [[{ property: 'speed_m_s', max: REST_M_S }]]
