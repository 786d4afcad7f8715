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
  19: 'vtol_tailsitter_duorotor',
  20: 'vtol_tailsitter_quadrotor',
  21: 'vtol_tiltrotor',
  22: 'vtol_fixed_rotor',
  23: 'vtol_tailsitter',
  24: 'vtol_tiltwing',
  25: 'vtol_reserved',
  29: 'dodecarotor',
  35: 'decarotor',
  43: 'generic_multirotor',
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

/** `MAV_LANDED_STATE`; the first one says that the autopilot does not know. */
const LANDED_STATES = [null, 'on_ground', 'in_air', 'taking_off', 'landing']

const RESULTS = [
  'accepted',
  'temporarily rejected',
  'denied',
  'unsupported',
  'failed',
  'in progress',
  'cancelled',
]

export const nameVehicleType = (type: number): string => VEHICLE_TYPES[type] ?? `type_${type}`
export const nameAutopilot = (autopilot: number): string =>
  AUTOPILOTS[autopilot] ?? `autopilot_${autopilot}`
export const nameSystemState = (state: number): string => SYSTEM_STATES[state] ?? `state_${state}`
export const nameGpsFix = (fix: number): string => GPS_FIXES[fix] ?? `fix_${fix}`
export const nameLandedState = (state: number): string | null => LANDED_STATES[state] ?? null
export const nameResult = (result: number): string => RESULTS[result] ?? `result ${result}`

/** False for ground stations and for components that are not an autopilot (`MAV_AUTOPILOT_INVALID`). */
export const isAutopilot = (type: number, autopilot: number): boolean =>
  VEHICLE_TYPES[type] !== 'ground_station' && AUTOPILOTS[autopilot] !== 'invalid'
