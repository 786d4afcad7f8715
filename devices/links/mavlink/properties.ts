import type { PropertyFacts } from '../../../shared/wire/device.ts'
import { SHARED_PROPERTIES } from '../../properties.ts'

const STATE_AGE_MS = 5000
/** The launch is asked for every ten seconds, or sent by the vehicle itself. */
const LAUNCH_AGE_MS = 35_000
const WARNING_AGE_MS = 600_000

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
  is_armed: { title: 'Armed', type: 'boolean', stale_after_ms: STATE_AGE_MS },
  mode: createText('Flight mode'),
  autopilot: createText('Autopilot'),
  vehicle_type: createText('Type of vehicle'),
  system_status: createText('System status'),
  gps_fix: createText('GPS fix'),
  launch_lat: { ...createNumber('Latitude of the launch', '°'), stale_after_ms: LAUNCH_AGE_MS },
  launch_lon: { ...createNumber('Longitude of the launch', '°'), stale_after_ms: LAUNCH_AGE_MS },
  warning: createText('Last warning', WARNING_AGE_MS),
}
