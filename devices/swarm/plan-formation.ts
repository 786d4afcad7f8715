import { ShoalError } from '../../shared/errors.ts'
import { assignTargets } from './assignment.ts'
import { type Clearance, findClearance, type Move } from './clearance.ts'
import { createSlots, type Point } from './formation.ts'
import { planLayers } from './layers.ts'
import { planOneByOne } from './one-by-one.ts'
import type {
  FormationRequest,
  FormationUnit,
  PlannedFormation,
  Stage,
  UnitMove,
} from './planned-formation.ts'
import { createTimeScale } from './time-scale.ts'

/**
 * Plans the way of units into a formation: slots, assignment, and moves that keep their distance.
 * Pure: equal input gives an equal plan.
 * @throws ShoalError conflict where no strategy keeps the distance, with the reason
 */
export const planFormation = (
  units: readonly FormationUnit[],
  request: FormationRequest,
): PlannedFormation => {
  const { formation, spacing_m, anchor, tolerances } = request
  const free = createSlots(formation, units.length, spacing_m, anchor)
  const starts = units.map(({ place }) => place)
  const slots = assignTargets(starts, free).map(target => free[target] as Point)
  const required_m = distanceOf(units, request)
  requireRoom(units, slots, required_m)
  const moves = units.map((unit, index) => createMove(unit, slots[index] as Point))
  const stage = createStage(units, moves)
  const direct = findClearance(moves, stage.scale.duration_s, tolerances)
  const found = { slots, direct, required_m }
  if (keeps(direct, required_m))
    return { ...found, strategy: 'direct', ...summarise([stage]), clearance: direct }
  const job = { units, moves, required_m, tolerances }
  const layers = planLayers(job)
  if (layers !== undefined) {
    const stages = layers.stages.map(one => createStage(units, one))
    return { ...found, strategy: 'layered', ...summarise(stages), clearance: layers.clearance }
  }
  const ordered = planOneByOne(job)
  if (ordered === undefined) throw createConflict(units, direct, required_m)
  const stages = ordered.moves.map(move => createStage(units, [move]))
  return { ...found, strategy: 'staged', ...summarise(stages), clearance: ordered.clearance }
}

/** Distance of two centres: two of the largest radii and the margin. */
const distanceOf = (units: readonly FormationUnit[], { margin_m }: FormationRequest): number =>
  2 * Math.max(0, ...units.map(({ radius_m }) => radius_m)) + margin_m

const keeps = ({ least_with_errors_m }: Clearance, required_m: number): boolean =>
  least_with_errors_m >= required_m

const createMove = ({ device_id, place }: FormationUnit, slot: Point): UnitMove & Move => ({
  device_id,
  from: place,
  to: { ...slot, altitude_m: place.altitude_m },
})

const createStage = (units: readonly FormationUnit[], moves: readonly UnitMove[]): Stage => {
  const limits = new Map(units.map(unit => [unit.device_id, unit]))
  const scale = createTimeScale(
    moves.map(({ device_id, from, to }) => {
      const { max_speed_m_s, max_acceleration_m_s2 } = limits.get(device_id) as FormationUnit
      const climb_m = to.altitude_m - from.altitude_m
      const length_m = Math.hypot(to.x - from.x, to.y - from.y, climb_m)
      return { length_m, max_speed_m_s, max_acceleration_m_s2 }
    }),
  )
  return { moves, scale }
}

const summarise = (stages: readonly Stage[]): Pick<PlannedFormation, 'stages' | 'duration_s'> => ({
  stages,
  duration_s: stages.reduce((sum, { scale }) => sum + scale.duration_s, 0),
})

/** Throws for units, or slots, that are closer to each other than any plan may allow. */
const requireRoom = (
  units: readonly FormationUnit[],
  slots: readonly Point[],
  required_m: number,
): void => {
  const still = { position_m: 0, skew_ms: 0 }
  const standing = (points: readonly Point[]) =>
    findClearance(
      points.map(point => ({ from: point, to: point })),
      0,
      still,
    )
  const now = standing(units.map(({ place }) => place))
  if (now.least_m < required_m) throw createConflict(units, now, required_m, 'stand')
  const then = standing(slots)
  if (then.least_m < required_m)
    throw new ShoalError(
      'conflict',
      `the slots are ${then.least_m.toFixed(2)} m apart and these units need ` +
        `${required_m.toFixed(2)} m; choose a larger spacing_m`,
      { param: 'spacing_m' },
    )
}

const createConflict = (
  units: readonly FormationUnit[],
  { pair, least_m, least_with_errors_m }: Clearance,
  required_m: number,
  verb = 'would come',
): ShoalError => {
  const [one, other] = (pair ?? [0, 0]).map(index => units[index]?.device_id ?? '')
  const near = verb === 'stand' ? least_m : least_with_errors_m
  return new ShoalError(
    'conflict',
    `${one} and ${other} ${verb} ${near.toFixed(2)} m from each other, and ` +
      `${required_m.toFixed(2)} m is required; move them apart, or choose another place or spacing`,
  )
}
