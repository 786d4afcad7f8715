import { ShoalError } from '../../shared/errors.ts'
import { assignTargets } from './assignment.ts'
import { type Clearance, findClearance, type Move } from './clearance.ts'
import { createStages, durationOf, paceMoves } from './create-stages.ts'
import { createSlots, type Point } from './formation.ts'
import { planLayers } from './layers.ts'
import { planOneByOne } from './one-by-one.ts'
import type {
  FormationRequest,
  FormationUnit,
  PlannedFormation,
  Strategy,
  StrategyJob,
  StrategyPlan,
  UnitMove,
} from './planned-formation.ts'

/**
 * Plans the way of units into a formation: slots, assignment, and moves that keep their distance.
 * Pure: equal input gives an equal plan.
 * @throws ShoalError conflict where no strategy keeps the distance, with the reason
 */
export const planFormation = (
  units: readonly FormationUnit[],
  request: FormationRequest,
): PlannedFormation => {
  const { formation, spacing_m, anchor, tolerances, obstacles = [] } = request
  const free = createSlots(formation, units.length, spacing_m, anchor)
  const targets = assignTargets(
    units.map(({ place }) => place),
    free,
  )
  const slots = targets.map(target => free[target] as Point)
  const required_m = distanceOf(units, request)
  requireRoom(units, slots, request, required_m)
  const moves = units.map((unit, index) => createMove(unit, slots[index] as Point))
  const job = { units, moves: paceAll(moves, units), obstacles, required_m, tolerances }
  const direct = findClearance([...job.moves, ...listStanding(request)], tolerances)
  const [strategy, { stages: found, clearance }] = choose(job, direct, listIds(units, request))
  const pause_ms = Math.max(tolerances.skew_ms, request.pause_ms ?? 0)
  const stages = createStages(units, found, pause_ms)
  const duration_s = durationOf(stages)
  return { strategy, stages, slots, direct, clearance, required_m, duration_s }
}

/** Distance of two centres: two of the largest radii and the margin. */
const distanceOf = (units: readonly FormationUnit[], { margin_m }: FormationRequest): number =>
  2 * Math.max(0, ...units.map(({ radius_m }) => radius_m)) + margin_m

const choose = (
  job: StrategyJob,
  direct: Clearance,
  ids: readonly string[],
): [Strategy, StrategyPlan] => {
  const { moves, required_m } = job
  if (direct.least_with_errors_m >= required_m)
    return ['direct', { stages: [[...moves]], clearance: direct }]
  const layers = planLayers(job)
  if (layers !== undefined) return ['layered', layers]
  const ordered = planOneByOne(job)
  if (ordered !== undefined) return ['staged', ordered]
  throw createConflict(ids, direct, required_m, 'would come')
}

const createMove = ({ device_id, place }: FormationUnit, slot: Point): UnitMove => ({
  device_id,
  from: place,
  to: { ...slot, altitude_m: place.altitude_m },
})

/** Moves with their paces, in the order of the units. */
const paceAll = (
  moves: readonly UnitMove[],
  units: readonly FormationUnit[],
): StrategyJob['moves'] => {
  const limits = new Map(units.map(unit => [unit.device_id, unit]))
  return paceMoves(moves, limits).moves
}

const listStanding = ({ obstacles = [] }: FormationRequest): Move[] =>
  obstacles.map(({ place }) => ({ from: place, to: place }))

/** Ids of the units and the obstacles behind them. */
const listIds = (units: readonly FormationUnit[], { obstacles = [] }: FormationRequest): string[] =>
  [...units, ...obstacles].map(({ device_id }) => device_id)

/** Throws for units, or slots, that are closer to each other than any plan may allow. */
const requireRoom = (
  units: readonly FormationUnit[],
  slots: readonly Point[],
  request: FormationRequest,
  required_m: number,
): void => {
  const findStandingClearance = (points: readonly Point[]) =>
    findClearance(
      points.map(point => ({ from: point, to: point })),
      request.tolerances,
    )
  const now = findStandingClearance(units.map(({ place }) => place))
  if (now.least_with_errors_m < required_m)
    throw createConflict(listIds(units, request), now, required_m, 'stand')
  const { least_m, least_with_errors_m } = findStandingClearance(slots)
  if (least_with_errors_m >= required_m) return
  const needed_m = required_m + least_m - least_with_errors_m
  throw new ShoalError(
    'conflict',
    `the slots are ${least_m.toFixed(2)} m apart and these units need ${needed_m.toFixed(2)} m; ` +
      'choose a larger spacing_m',
    { param: 'spacing_m' },
  )
}

const createConflict = (
  ids: readonly string[],
  { pair, least_with_errors_m }: Clearance,
  required_m: number,
  verb: 'stand' | 'would come',
): ShoalError => {
  const [one, other] = (pair ?? [0, 0]).map(index => ids[index] ?? '')
  return new ShoalError(
    'conflict',
    `with errors at their worst, ${one} and ${other} ${verb} ${least_with_errors_m.toFixed(2)} m ` +
      `from each other, and ${required_m.toFixed(2)} m is required; move them apart, or choose ` +
      'another place or spacing',
  )
}
