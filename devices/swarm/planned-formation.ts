import type { Clearance, Tolerances } from './clearance.ts'
import type { Anchor, Formation, Point } from './formation.ts'
import type { TimeScale } from './time-scale.ts'

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
}

export interface UnitMove {
  device_id: string
  from: Place
  to: Place
}

/** Moves that begin together; those of the next stage begin after their end. */
export interface Stage {
  moves: readonly UnitMove[]
  scale: TimeScale
}

/**
 * `direct`: all units move at once. `layered`: at once, at different altitudes. `staged`: one after
 * another.
 */
export type Strategy = 'direct' | 'layered' | 'staged'

export interface PlannedFormation {
  strategy: Strategy
  stages: readonly Stage[]
  /** Slot of each unit, in the order of the units. */
  slots: readonly Point[]
  /** Of the direct moves, which every strategy but `direct` avoids. */
  direct: Clearance
  /** Clearance of what is planned; only `layered` moves have other ones in their second stage. */
  clearance: Pick<Clearance, 'least_m' | 'least_with_errors_m'>
  /** Least distance of two centres that a plan must keep, without errors. */
  required_m: number
  duration_s: number
}
