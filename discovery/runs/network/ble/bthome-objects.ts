/** How an object of BTHome is read: its bytes, little endian, times a factor. */
export interface BtHomeObject {
  name: string
  bytes: 1 | 2 | 3 | 4
  isSigned: boolean
  factor: number
}

const number = (
  name: string,
  bytes: 1 | 2 | 3 | 4,
  factor = 1,
  isSigned = false,
): BtHomeObject => ({
  ...{ name, bytes, factor, isSigned },
})

/** Names of objects 0x0f to 0x2d that are true or false, in the order of their ids. */
const BOOLEANS = [
  ...['generic', 'power_on', 'opening'],
  ...[undefined, undefined, undefined],
  ...['battery_low', 'battery_charging', 'carbon_monoxide', 'cold', 'connected', 'door'],
  ...['garage_door', 'gas_detected', 'heat', 'light', 'unlocked', 'moisture_detected', 'motion'],
  ...['moving', 'occupancy', 'plugged_in', 'presence', 'problem', 'running', 'safe', 'smoke'],
  ...['sound', 'tampered', 'vibration', 'window_open'],
]
const FIRST_BOOLEAN = 0x0f

/** Name of an object that is true or false. */
export const findBoolean = (id: number): string | undefined => BOOLEANS[id - FIRST_BOOLEAN]

/** Objects that are numbers (bthome.io, "BTHome Data Format", version 2). */
export const NUMBERS: Readonly<Record<number, BtHomeObject>> = {
  0: number('packet_id', 1),
  1: number('battery_percent', 1),
  2: number('temperature_c', 2, 0.01, true),
  3: number('humidity_percent', 2, 0.01),
  4: number('pressure_hpa', 3, 0.01),
  5: number('illuminance_lux', 3, 0.01),
  6: number('mass_kg', 2, 0.01),
  7: number('mass_lb', 2, 0.01),
  8: number('dew_point_c', 2, 0.01, true),
  9: number('count', 1),
  10: number('energy_kwh', 3, 0.001),
  11: number('power_w', 3, 0.01),
  12: number('voltage_v', 2, 0.001),
  13: number('pm2_5_ug_m3', 2),
  14: number('pm10_ug_m3', 2),
  18: number('co2_ppm', 2),
  19: number('tvoc_ug_m3', 2),
  20: number('moisture_percent', 2, 0.01),
  46: number('humidity_percent', 1),
  47: number('moisture_percent', 1),
  58: number('button_event', 1),
  60: number('dimmer_event', 2),
  61: number('count', 2),
  62: number('count', 4),
  63: number('rotation_degrees', 2, 0.1, true),
  64: number('distance_mm', 2),
  65: number('distance_m', 2, 0.1),
  66: number('duration_s', 3, 0.001),
  67: number('current_a', 2, 0.001),
  68: number('speed_m_s', 2, 0.01),
  69: number('temperature_c', 2, 0.1, true),
  70: number('uv_index', 1, 0.1),
  71: number('volume_l', 2, 0.1),
  72: number('volume_ml', 2),
  73: number('flow_m3_h', 2, 0.001),
  74: number('voltage_v', 2, 0.1),
  75: number('gas_m3', 3, 0.001),
  76: number('gas_m3', 4, 0.001),
  77: number('energy_kwh', 4, 0.001),
  78: number('volume_l', 4, 0.001),
  79: number('water_l', 4, 0.001),
  80: number('time_unix_s', 4),
  81: number('acceleration_m_s2', 2, 0.001),
  82: number('rotation_deg_s', 2, 0.001),
  85: number('storage_l', 4, 0.001),
  86: number('conductivity_us_cm', 2),
  87: number('temperature_c', 1, 1, true),
  88: number('temperature_c', 1, 0.35, true),
  89: number('count', 1, 1, true),
  90: number('count', 2, 1, true),
  91: number('count', 4, 1, true),
  92: number('power_w', 4, 0.01, true),
  93: number('current_a', 2, 0.001, true),
  240: number('device_type', 2),
  241: number('firmware', 4),
  242: number('firmware', 3),
}

/** Objects of text and of raw bytes: a length stands before them. */
export const isCounted = (id: number): boolean => id === 0x53 || id === 0x54
