/* Names of the enumerations of `minimal.xml` and `common.xml` (mavlink/mavlink). */

const VEHICLE_TYPES: Readonly<Record<number, string>> = {
  0: 'generic',
  1: 'fixed_wing',
  2: 'quadrotor',
  3: 'coaxial',
  4: 'helicopter',
  5: 'antenna_tracker',
  6: 'ground_station',
  10: 'rover',
  11: 'boat',
  12: 'submarine',
  13: 'hexarotor',
  14: 'octorotor',
  15: 'tricopter',
  29: 'dodecarotor',
  35: 'decarotor',
}

const AUTOPILOTS: Readonly<Record<number, string>> = {
  0: 'generic',
  3: 'ardupilot',
  8: 'invalid',
  12: 'px4',
}

const SYSTEM_STATES = [
  'uninitialised',
  'booting',
  'calibrating',
  'standby',
  'active',
  'critical',
  'emergency',
  'power_off',
  'terminating',
]

const GPS_FIXES = [
  'no_gps',
  'no_fix',
  '2d',
  '3d',
  'dgps',
  'rtk_float',
  'rtk_fixed',
  'static',
  'ppp',
]

/** Fixes with an altitude. */
export const FIXES_3D = GPS_FIXES.slice(3)

const RESULTS = [
  'accepted',
  'temporarily rejected',
  'denied',
  'unsupported',
  'failed',
  'in progress',
  'cancelled',
]

/** Multirotor flight modes of ArduPilot (`Mode::Number` in `ArduCopter/mode.h`). */
export const COPTER_MODES = {
  stabilize: 0,
  acro: 1,
  alt_hold: 2,
  auto: 3,
  guided: 4,
  loiter: 5,
  rtl: 6,
  circle: 7,
  land: 9,
  poshold: 16,
  brake: 17,
  smart_rtl: 21,
} as const
export type CopterMode = keyof typeof COPTER_MODES

const COPTER_MODE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(COPTER_MODES).map(([name, number]) => [number, name]),
)
const MULTIROTORS = [2, 3, 4, 13, 14, 15, 29, 35]

export const nameVehicleType = (type: number): string => VEHICLE_TYPES[type] ?? `type_${type}`
export const nameAutopilot = (autopilot: number): string =>
  AUTOPILOTS[autopilot] ?? `autopilot_${autopilot}`
export const nameSystemState = (state: number): string => SYSTEM_STATES[state] ?? `state_${state}`
export const nameGpsFix = (fix: number): string => GPS_FIXES[fix] ?? `fix_${fix}`
export const nameResult = (result: number): string => RESULTS[result] ?? `result ${result}`

/** Flight mode; its number where the names of the autopilot are not known here. */
export const nameMode = (type: number, autopilot: number, customMode: number): string => {
  const isCopter = AUTOPILOTS[autopilot] === 'ardupilot' && MULTIROTORS.includes(type)
  return (isCopter ? COPTER_MODE_NAMES.get(customMode) : undefined) ?? `mode_${customMode}`
}

/** False for ground stations and for components that are not an autopilot (`MAV_AUTOPILOT_INVALID`). */
export const isAutopilot = (type: number, autopilot: number): boolean =>
  VEHICLE_TYPES[type] !== 'ground_station' && AUTOPILOTS[autopilot] !== 'invalid'
