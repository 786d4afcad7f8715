import { escapeHidden } from '../../../shared/visible.ts'
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
  STATUSTEXT,
  SYS_STATUS,
  VFR_HUD,
} from './messages.ts'
import { nameAutopilot, nameGpsFix, nameMode, nameSystemState, nameVehicleType } from './names.ts'

/** Readings by the name of their property; null where the vehicle says that it does not know. */
export type VehicleReadings = Readonly<Record<string, PropertyValue>>

/** `MAV_MODE_FLAG_SAFETY_ARMED`. */
const ARMED = 0x80
const UNKNOWN_16_BIT = 0xffff
const UNKNOWN_8_BIT = 0xff
/** `MAV_SEVERITY_WARNING`; lower is worse. */
const WARNING = 4
const DEGREES_PER_1E7 = 1e-7
const MAX_TEXT = 256

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

const READERS: ReadonlyMap<number, Reader> = new Map([
  createReader(HEARTBEAT, ({ type, autopilot, base_mode, custom_mode, system_status }) => ({
    vehicle_type: nameVehicleType(type),
    autopilot: nameAutopilot(autopilot),
    is_armed: (base_mode & ARMED) !== 0,
    mode: nameMode(type, autopilot, custom_mode),
    system_status: nameSystemState(system_status),
  })),
  createReader(SYS_STATUS, ({ battery_remaining, voltage_battery }) => ({
    battery_percent: orNull(battery_remaining, -1),
    battery_volts: readVolts(voltage_battery),
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
  createReader(GLOBAL_POSITION_INT, ({ lat, lon, relative_alt, vx, vy, hdg }) => ({
    ...readPosition(lat, lon),
    altitude_m: scaleOrNull(relative_alt, 0.001),
    speed_m_s: scaleOrNull(Math.hypot(vx, vy), 0.01),
    heading_degrees: scaleOrNull(orNull(hdg, UNKNOWN_16_BIT), 0.01),
  })),
  createReader(HOME_POSITION, ({ latitude, longitude }) => {
    const { lat, lon } = readPosition(latitude, longitude)
    return { launch_lat: lat, launch_lon: lon }
  }),
  createReader(VFR_HUD, ({ groundspeed, climb }) => ({
    speed_m_s: finiteOrNull(groundspeed),
    climb_m_s: finiteOrNull(climb),
  })),
  createReader(ATTITUDE, ({ roll, pitch }) => ({
    roll_degrees: readRadians(roll),
    pitch_degrees: readRadians(pitch),
  })),
  createReader(STATUSTEXT, ({ severity, text }) =>
    severity <= WARNING ? { warning: escapeHidden(text).slice(0, MAX_TEXT) } : {},
  ),
])

/** Readings of a frame; empty for a message that has none. */
export const readFrame = ({ messageId, payload }: Frame): VehicleReadings => {
  const reader = READERS.get(messageId)
  return reader === undefined ? {} : reader.read(decodePayload(reader.message, payload))
}
