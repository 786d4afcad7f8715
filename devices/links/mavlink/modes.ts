import { ShoalError } from '../../../shared/errors.ts'
import { type Autopilot, findVehicleKind, type VehicleClass } from './vehicle-kind.ts'

/* Modes by autopilot and class of vehicle: the same number is another mode on another vehicle. */

type Modes = Readonly<Record<string, number>>

/** `Mode::Number` of `ArduCopter/mode.h`. */
const ARDUCOPTER: Modes = {
  stabilize: 0,
  acro: 1,
  alt_hold: 2,
  auto: 3,
  guided: 4,
  loiter: 5,
  rtl: 6,
  circle: 7,
  land: 9,
  drift: 11,
  sport: 13,
  flip: 14,
  autotune: 15,
  poshold: 16,
  brake: 17,
  throw: 18,
  avoid_adsb: 19,
  guided_nogps: 20,
  smart_rtl: 21,
  flowhold: 22,
  follow: 23,
  zigzag: 24,
  systemid: 25,
  autorotate: 26,
  auto_rtl: 27,
  turtle: 28,
}

/** `Mode::Number` of `Rover/mode.h`. */
const ARDUROVER: Modes = {
  manual: 0,
  acro: 1,
  steering: 3,
  hold: 4,
  loiter: 5,
  follow: 6,
  simple: 7,
  dock: 8,
  circle: 9,
  auto: 10,
  rtl: 11,
  smart_rtl: 12,
  guided: 15,
  initialising: 16,
}

/** `Mode::Number` of `ArduPlane/mode.h`; the modes with a `q` are those of quadplanes. */
const ARDUPLANE: Modes = {
  manual: 0,
  circle: 1,
  stabilize: 2,
  training: 3,
  acro: 4,
  fly_by_wire_a: 5,
  fly_by_wire_b: 6,
  cruise: 7,
  autotune: 8,
  auto: 10,
  rtl: 11,
  loiter: 12,
  takeoff: 13,
  avoid_adsb: 14,
  guided: 15,
  initialising: 16,
  qstabilize: 17,
  qhover: 18,
  qloiter: 19,
  qland: 20,
  qrtl: 21,
  qautotune: 22,
  qacro: 23,
  thermal: 24,
  loiter_alt_qland: 25,
}

/** `Mode::Number` of `ArduSub/mode.h`. */
const ARDUSUB: Modes = {
  stabilize: 0,
  acro: 1,
  alt_hold: 2,
  auto: 3,
  guided: 4,
  circle: 7,
  surface: 9,
  poshold: 16,
  manual: 19,
  motor_detect: 20,
  surftrak: 21,
}

/** Number of a PX4 mode in the heartbeat (`union px4_custom_mode`): main mode and sub mode. */
export const joinPx4Mode = (main: number, sub = 0): number => main * 2 ** 16 + sub * 2 ** 24

/** `src/modules/commander/px4_custom_mode.h`; the same for every vehicle. */
const PX4: Modes = {
  manual: joinPx4Mode(1),
  altctl: joinPx4Mode(2),
  posctl: joinPx4Mode(3),
  orbit: joinPx4Mode(3, 1),
  auto_ready: joinPx4Mode(4, 1),
  auto_takeoff: joinPx4Mode(4, 2),
  auto_loiter: joinPx4Mode(4, 3),
  auto_mission: joinPx4Mode(4, 4),
  auto_rtl: joinPx4Mode(4, 5),
  auto_land: joinPx4Mode(4, 6),
  auto_follow_target: joinPx4Mode(4, 8),
  auto_precland: joinPx4Mode(4, 9),
  acro: joinPx4Mode(5),
  offboard: joinPx4Mode(6),
  stabilized: joinPx4Mode(7),
}

const MODES: Readonly<Record<Autopilot, Readonly<Record<VehicleClass, Modes>>>> = {
  ardupilot: { copter: ARDUCOPTER, rover: ARDUROVER, plane: ARDUPLANE, sub: ARDUSUB },
  px4: { copter: PX4, rover: PX4, plane: PX4, sub: PX4 },
}

interface ModeOwner {
  autopilot: Autopilot
  vehicleClass: VehicleClass
}

/** Name of a mode of a vehicle whose modes are known here. */
export const nameKnownMode = ({ autopilot, vehicleClass }: ModeOwner, number: number): string =>
  Object.entries(MODES[autopilot][vehicleClass]).find(([, one]) => one === number)?.[0] ??
  `mode_${number}`

/** Name of the mode in a heartbeat; its number where the modes of the vehicle are not known here. */
export const nameMode = (type: number, autopilot: number, customMode: number): string => {
  const kind = findVehicleKind(type, autopilot)
  return kind === undefined ? `mode_${customMode}` : nameKnownMode(kind, customMode)
}

/**
 * Number of a mode in the heartbeats of a vehicle.
 * @throws ShoalError invalid_request for a mode that it does not have
 */
export const numberMode = ({ autopilot, vehicleClass }: ModeOwner, name: string): number => {
  const modes = MODES[autopilot][vehicleClass]
  const number = Object.hasOwn(modes, name) ? modes[name] : undefined
  if (number !== undefined) return number
  const message = `a ${vehicleClass} with ${autopilot} has no mode ${name}`
  throw new ShoalError('invalid_request', message, { param: 'mode' })
}

/** Names of the modes of a class of vehicle, those of both autopilots, sorted. */
export const listModes = (vehicleClass: VehicleClass): string[] => {
  const names = Object.values(MODES).flatMap(classes => Object.keys(classes[vehicleClass]))
  return [...new Set(names)].sort()
}

/** Main mode and sub mode of a PX4 mode, as the command that sets it has them. */
export const splitPx4Mode = (number: number): { main: number; sub: number } => ({
  main: (number >>> 16) & 0xff,
  sub: number >>> 24,
})
