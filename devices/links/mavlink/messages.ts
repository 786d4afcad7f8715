import { defineMessage, type Message } from './message.ts'
import { STATUS_MESSAGES } from './status-messages.ts'

/*
 * Messages that the link reads or sends, from `minimal.xml` and `common.xml` of mavlink/mavlink
 * (`message_definitions/v1.0`). Each CRC_EXTRA is the checksum over the name and the fields of its
 * definition (MAVLink guide, "CRC_EXTRA Calculation"); a test computes it from the fields here.
 */

export const HEARTBEAT = defineMessage(0, 'HEARTBEAT', 50, {
  custom_mode: 'uint32_t',
  type: 'uint8_t',
  autopilot: 'uint8_t',
  base_mode: 'uint8_t',
  system_status: 'uint8_t',
  mavlink_version: 'uint8_t',
})

export const SYS_STATUS = defineMessage(1, 'SYS_STATUS', 124, {
  onboard_control_sensors_present: 'uint32_t',
  onboard_control_sensors_enabled: 'uint32_t',
  onboard_control_sensors_health: 'uint32_t',
  load: 'uint16_t',
  voltage_battery: 'uint16_t',
  current_battery: 'int16_t',
  drop_rate_comm: 'uint16_t',
  errors_comm: 'uint16_t',
  errors_count1: 'uint16_t',
  errors_count2: 'uint16_t',
  errors_count3: 'uint16_t',
  errors_count4: 'uint16_t',
  battery_remaining: 'int8_t',
})

export const GPS_RAW_INT = defineMessage(24, 'GPS_RAW_INT', 24, {
  time_usec: 'uint64_t',
  lat: 'int32_t',
  lon: 'int32_t',
  alt: 'int32_t',
  eph: 'uint16_t',
  epv: 'uint16_t',
  vel: 'uint16_t',
  cog: 'uint16_t',
  fix_type: 'uint8_t',
  satellites_visible: 'uint8_t',
})

export const ATTITUDE = defineMessage(30, 'ATTITUDE', 39, {
  time_boot_ms: 'uint32_t',
  roll: 'float',
  pitch: 'float',
  yaw: 'float',
  rollspeed: 'float',
  pitchspeed: 'float',
  yawspeed: 'float',
})

export const GLOBAL_POSITION_INT = defineMessage(33, 'GLOBAL_POSITION_INT', 104, {
  time_boot_ms: 'uint32_t',
  lat: 'int32_t',
  lon: 'int32_t',
  alt: 'int32_t',
  relative_alt: 'int32_t',
  vx: 'int16_t',
  vy: 'int16_t',
  vz: 'int16_t',
  hdg: 'uint16_t',
})

export const VFR_HUD = defineMessage(74, 'VFR_HUD', 20, {
  airspeed: 'float',
  groundspeed: 'float',
  alt: 'float',
  climb: 'float',
  heading: 'int16_t',
  throttle: 'uint16_t',
})

export const COMMAND_INT = defineMessage(75, 'COMMAND_INT', 158, {
  param1: 'float',
  param2: 'float',
  param3: 'float',
  param4: 'float',
  x: 'int32_t',
  y: 'int32_t',
  z: 'float',
  command: 'uint16_t',
  target_system: 'uint8_t',
  target_component: 'uint8_t',
  frame: 'uint8_t',
  current: 'uint8_t',
  autocontinue: 'uint8_t',
})

export const COMMAND_LONG = defineMessage(76, 'COMMAND_LONG', 152, {
  param1: 'float',
  param2: 'float',
  param3: 'float',
  param4: 'float',
  param5: 'float',
  param6: 'float',
  param7: 'float',
  command: 'uint16_t',
  target_system: 'uint8_t',
  target_component: 'uint8_t',
  confirmation: 'uint8_t',
})

export const COMMAND_ACK = defineMessage(
  77,
  'COMMAND_ACK',
  143,
  {
    command: 'uint16_t',
    result: 'uint8_t',
    progress: 'uint8_t',
    result_param2: 'int32_t',
    target_system: 'uint8_t',
    target_component: 'uint8_t',
  },
  4,
)

export const BATTERY_STATUS = defineMessage(147, 'BATTERY_STATUS', 154, {
  current_consumed: 'int32_t',
  energy_consumed: 'int32_t',
  temperature: 'int16_t',
  voltages: 'uint16_t[10]',
  current_battery: 'int16_t',
  id: 'uint8_t',
  battery_function: 'uint8_t',
  type: 'uint8_t',
  battery_remaining: 'int8_t',
})

/** A longer text comes in chunks of one id, which is 0 for a text of one message. */
export const STATUSTEXT = defineMessage(
  253,
  'STATUSTEXT',
  83,
  { severity: 'uint8_t', text: 'char[50]', id: 'uint16_t', chunk_seq: 'uint8_t' },
  2,
)

/** Place of the launch, to which a vehicle returns. */
export const HOME_POSITION = defineMessage(
  242,
  'HOME_POSITION',
  104,
  {
    latitude: 'int32_t',
    longitude: 'int32_t',
    altitude: 'int32_t',
    x: 'float',
    y: 'float',
    z: 'float',
    q: 'float[4]',
    approach_x: 'float',
    approach_y: 'float',
    approach_z: 'float',
    time_usec: 'uint64_t',
  },
  1,
)

export const MESSAGES: ReadonlyMap<number, Message> = new Map(
  [
    HEARTBEAT,
    SYS_STATUS,
    GPS_RAW_INT,
    ATTITUDE,
    GLOBAL_POSITION_INT,
    VFR_HUD,
    COMMAND_INT,
    COMMAND_LONG,
    COMMAND_ACK,
    BATTERY_STATUS,
    STATUSTEXT,
    HOME_POSITION,
    ...STATUS_MESSAGES,
  ].map(message => [message.id, message as Message]),
)
