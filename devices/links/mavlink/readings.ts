import type { PropertyValue } from '../../../shared/wire/device.ts'
import type { Frame } from './frame.ts'
import { decodePayload, type Message, type MessageValues } from './message.ts'
import {
  ATTITUDE,
  BATTERY_STATUS,
  GLOBAL_POSITION_INT,
  GPS_RAW_INT,
  HEARTBEAT,
  HOME_POSITION,
  SYS_STATUS,
  VFR_HUD,
} from './messages.ts'
import { nameMode } from './modes.ts'
import {
  nameAutopilot,
  nameGpsFix,
  nameLandedState,
  nameSystemState,
  nameVehicleType,
} from './names.ts'
import {
  EKF_STATUS_REPORT,
  ESTIMATOR_STATUS,
  EXTENDED_SYS_STATE,
  FENCE_STATUS,
} from './status-messages.ts'

/** Readings by the name of their property; null where the vehicle says that it does not know. */
type VehicleReadings = Readonly<Record<string, PropertyValue>>

/** `MAV_MODE_FLAG_SAFETY_ARMED`. */
const ARMED = 0x80
const UNKNOWN_16_BIT = 0xffff
const UNKNOWN_8_BIT = 0xff
const DEGREES_PER_1E7 = 1e-7

/** `MAV_SYS_STATUS_PREARM_CHECK`. */
const PREARM_CHECK = 0x1000_0000
/** `EKF_STATUS_FLAGS` and `ESTIMATOR_STATUS_FLAGS`: what flight to a position needs, and must not have. */
const EKF_NEEDED = 0b11_0111
const EKF_CONSTANT_POSITION = 0x80
/** `EKF_UNINITIALIZED` of ArduPilot, `ESTIMATOR_GPS_GLITCH` of PX4. */
const EKF_UNUSABLE = 0x400
/** `EKF_GPS_GLITCHING` of ArduPilot, `ESTIMATOR_ACCEL_ERROR` of PX4 */
const EKF_GLITCHING = 0x8000
const ACCEL_ERROR = 0x800

interface Reader {
  message: Message
  read(values: MessageValues): VehicleReadings
}

const createReader = <M extends Message>(
  message: M,
  read: (values: MessageValues<M['fields']>) => VehicleReadings,
): [number, Reader] => [message.id, { message, read: read as Reader['read'] }]

const orNull = (value: number, unknown: number): number | null => (value === unknown ? null : value)
/** Floating-point values of the wire can be NaN or infinite. */
const finiteOrNull = (value: number): number | null => (Number.isFinite(value) ? value : null)
const scaleOrNull = (value: number | null, factor: number): number | null =>
  value === null ? null : Math.round(value * factor * 1e7) / 1e7

const readVolts = (millivolts: number): number | null =>
  scaleOrNull(orNull(millivolts, UNKNOWN_16_BIT), 0.001)

const readRadians = (radians: number): number | null =>
  scaleOrNull(finiteOrNull(radians), 180 / Math.PI)

/** An autopilot without a position sends zeros. */
const readPosition = (lat: number, lon: number) =>
  lat === 0 && lon === 0
    ? { lat: null, lon: null }
    : { lat: scaleOrNull(lat, DEGREES_PER_1E7), lon: scaleOrNull(lon, DEGREES_PER_1E7) }

const hasBits = (flags: number, bits: number): boolean => (flags & bits) === bits

/** Null where the autopilot has no such check, or has it switched off. */
const readPrearm = (present: number, enabled: number, health: number): boolean | null =>
  hasBits(present & enabled, PREARM_CHECK) ? hasBits(health, PREARM_CHECK) : null

const isFilterHealthy = (flags: number, errors: number): boolean =>
  hasBits(flags, EKF_NEEDED) && (flags & (EKF_CONSTANT_POSITION | EKF_UNUSABLE | errors)) === 0

const READERS: ReadonlyMap<number, Reader> = new Map([
  createReader(HEARTBEAT, ({ type, autopilot, base_mode, custom_mode, system_status }) => ({
    vehicle_type: nameVehicleType(type),
    autopilot: nameAutopilot(autopilot),
    is_armed: (base_mode & ARMED) !== 0,
    mode: nameMode(type, autopilot, custom_mode),
    system_status: nameSystemState(system_status),
  })),
  createReader(SYS_STATUS, ({ battery_remaining, voltage_battery, ...status }) => ({
    battery_percent: orNull(battery_remaining, -1),
    battery_volts: readVolts(voltage_battery),
    is_ready_to_arm: readPrearm(
      status.onboard_control_sensors_present,
      status.onboard_control_sensors_enabled,
      status.onboard_control_sensors_health,
    ),
  })),
  createReader(EKF_STATUS_REPORT, ({ flags }) => ({
    is_ekf_healthy: isFilterHealthy(flags, EKF_GLITCHING),
  })),
  createReader(ESTIMATOR_STATUS, ({ flags }) => ({
    is_ekf_healthy: isFilterHealthy(flags, ACCEL_ERROR),
  })),
  createReader(FENCE_STATUS, ({ breach_status }) => ({ is_fence_breached: breach_status !== 0 })),
  createReader(EXTENDED_SYS_STATE, ({ landed_state }) => ({
    landed_state: nameLandedState(landed_state),
  })),
  // the first battery is the one that flies; its percentage is more exact than that of SYS_STATUS
  createReader(BATTERY_STATUS, ({ id, battery_remaining }) =>
    id === 0 ? { battery_percent: orNull(battery_remaining, -1) } : {},
  ),
  createReader(GPS_RAW_INT, ({ fix_type, satellites_visible, eph }) => ({
    gps_fix: nameGpsFix(fix_type),
    satellites: orNull(satellites_visible, UNKNOWN_8_BIT),
    hdop: scaleOrNull(orNull(eph, UNKNOWN_16_BIT), 0.01),
  })),
  createReader(GLOBAL_POSITION_INT, ({ lat, lon, relative_alt, vx, vy, vz, hdg }) => ({
    ...readPosition(lat, lon),
    altitude_m: scaleOrNull(relative_alt, 0.001),
    speed_m_s: scaleOrNull(Math.hypot(vx, vy), 0.01),
    // the wire has the speed downwards
    climb_m_s: scaleOrNull(0 - vz, 0.01),
    heading_degrees: scaleOrNull(orNull(hdg, UNKNOWN_16_BIT), 0.01),
  })),
  createReader(HOME_POSITION, ({ latitude, longitude, altitude }) => {
    const { lat, lon } = readPosition(latitude, longitude)
    const launch_altitude_amsl_m = lat === null ? null : scaleOrNull(altitude, 0.001)
    return { launch_lat: lat, launch_lon: lon, launch_altitude_amsl_m }
  }),
  createReader(VFR_HUD, ({ groundspeed, climb }) => ({
    speed_m_s: finiteOrNull(groundspeed),
    climb_m_s: finiteOrNull(climb),
  })),
  createReader(ATTITUDE, ({ roll, pitch }) => ({
    roll_degrees: readRadians(roll),
    pitch_degrees: readRadians(pitch),
  })),
])

/** Readings of a frame; empty for a message that has none. */
export const readFrame = ({ messageId, payload }: Frame): VehicleReadings => {
  const reader = READERS.get(messageId)
  return reader === undefined ? {} : reader.read(decodePayload(reader.message, payload))
}
