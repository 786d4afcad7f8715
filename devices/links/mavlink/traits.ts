import type { VehicleKind } from './vehicle-kind.ts'

/** Modes of a kind of vehicle by what they are for. */
export interface VehicleTraits {
  /** Mode in which the vehicle goes where this cell sends it. */
  guided: string
  /** Modes of a climb after take-off, in order. */
  takingOff: readonly string[]
  /** Mode of the return to the launch. */
  returning: string
  /**
   * Modes that bring the vehicle to rest, the best one first. The next one is tried when the vehicle
   * refuses one, or acknowledges it and does not change to it.
   */
  hold: readonly string[]
  /** Modes that end a flight or a dive where the vehicle is; empty for one that cannot do that. */
  land: readonly string[]
}

const ARDUCOPTER: VehicleTraits = {
  guided: 'guided',
  takingOff: ['guided'],
  returning: 'rtl',
  // without a position the first two are refused; alt_hold would drift with the wind, and sink where
  // the throttle stick of a pilot is low
  hold: ['brake', 'loiter', 'land'],
  land: ['land', 'brake'],
}

const ARDUROVER: VehicleTraits = {
  guided: 'guided',
  takingOff: [],
  returning: 'rtl',
  hold: ['hold'],
  land: [],
}

/** A plane cannot rest in the air: it circles. */
const ARDUPLANE: VehicleTraits = {
  guided: 'guided',
  takingOff: ['takeoff'],
  returning: 'rtl',
  hold: ['loiter', 'circle'],
  land: [],
}

const QUADPLANE: VehicleTraits = {
  guided: 'guided',
  takingOff: ['guided'],
  returning: 'qrtl',
  hold: ['qloiter', 'qland'],
  land: ['qland', 'qloiter'],
}

/** Depth is held by the pressure; the place only with a position. */
const ARDUSUB: VehicleTraits = {
  guided: 'guided',
  takingOff: [],
  returning: 'surface',
  hold: ['poshold', 'alt_hold', 'surface'],
  land: ['surface'],
}

/** `main_state_transition` of PX4: loiter needs a global position, land a local one. */
const PX4_FLYING: VehicleTraits = {
  guided: 'auto_loiter',
  takingOff: ['auto_takeoff', 'auto_loiter'],
  returning: 'auto_rtl',
  hold: ['auto_loiter', 'auto_land'],
  land: ['auto_land', 'auto_loiter'],
}

const PX4_ROVER: VehicleTraits = { ...PX4_FLYING, takingOff: [], hold: ['auto_loiter'], land: [] }

/** Mode of a submarine that holds its depth alone: a current moves it on. */
const DRIFTING = 'alt_hold'

/**
 * True for a mode that makes a stop worse: a way to the surface, which a failsafe may have begun, goes
 * on rather than drifting.
 */
export const isWorse = ({ land }: VehicleTraits, mode: string, current: string): boolean =>
  mode === DRIFTING && land[0] === current

/**
 * Tells whether a mode of a stop may follow an unanswered one. A vehicle answers each order, so
 * silence means that it receives none: once it receives again, holding its place is better than a
 * landing that only silence has begun.
 */
export const mayFollowSilence = ({ hold, land }: VehicleTraits, mode: string): boolean =>
  hold.includes(mode) && !land.includes(mode) && mode !== DRIFTING

export const traitsOf = ({ autopilot, vehicleClass, canHover }: VehicleKind): VehicleTraits => {
  if (autopilot === 'px4') return vehicleClass === 'rover' ? PX4_ROVER : PX4_FLYING
  if (vehicleClass === 'plane') return canHover ? QUADPLANE : ARDUPLANE
  return { copter: ARDUCOPTER, rover: ARDUROVER, sub: ARDUSUB }[vehicleClass]
}
