import type { Clearance, Tolerances } from './clearance.ts'
import type { Anchor, Formation, Point } from './formation.ts'
import type { Pace, TimeScale } from './time-scale.ts'

/** Position of a unit: a point of the local frame and an altitude, in metres. */
export interface Place extends Point {
  altitude_m: number
}

/** A unit as its plan sees it. */
export interface FormationUnit {
  device_id: string
  place: Place
  /** Radius of the circle that holds it, in metres. */
  radius_m: number
  /** Speed below which it cannot move evenly. */
  min_speed_m_s: number
  max_speed_m_s: number
  max_acceleration_m_s2: number
  /** Altitudes that it may take; absent for a unit that stays on the ground. */
  altitudes?: { min_m: number; max_m: number }
}

export interface FormationRequest {
  formation: Formation
  spacing_m: number
  anchor: Anchor
  tolerances: Tolerances
  /** Distance between the circles of two units beyond the errors, in metres. */
  margin_m: number
  /** Least pause between two stages, in milliseconds; that of the longest skew when absent. */
  pause_ms?: number
  /** Devices that stand in the area and do not take part. */
  obstacles?: readonly Obstacle[]
}

interface Obstacle {
  device_id: string
  place: Point
}

export interface UnitMove {
  device_id: string
  from: Place
  to: Place
}

/** Move of a unit with the pace at which it follows the time scale of its stage. */
export interface PacedUnitMove extends UnitMove {
  pace: Pace
}

/**
 * Moves that begin together. A pause of at least the longest skew lies between two stages, so that no unit
 * begins one before all have ended the other.
 */
export interface Stage {
  /** Time after the start of the plan. */
  begins_s: number
  moves: readonly PacedUnitMove[]
  scale: TimeScale
}

/**
 * `direct`: all units move at once. `layered`: at once, at different altitudes. `staged`: one after
 * another.
 */
export type Strategy = 'direct' | 'layered' | 'staged'

export type LeastDistance = Pick<Clearance, 'least_m' | 'least_with_errors_m'>

/** Moves of each stage that a strategy has found, and how close units come in them. */
export interface StrategyPlan {
  stages: UnitMove[][]
  clearance: LeastDistance
}

/** Input of a strategy; the moves are in the order of the units. */
export interface StrategyJob {
  units: readonly FormationUnit[]
  moves: readonly PacedUnitMove[]
  obstacles: readonly Obstacle[]
  required_m: number
  tolerances: Tolerances
}

export interface PlannedFormation {
  strategy: Strategy
  stages: readonly Stage[]
  /** Slot of each unit, in the order of the units. */
  slots: readonly Point[]
  /** Clearance of the direct moves, which every strategy except `direct` avoids. */
  direct: Clearance
  /** Clearance of what is planned. */
  clearance: LeastDistance
  /** Least distance of two centres that a plan must keep, with errors. */
  required_m: number
  duration_s: number
}
