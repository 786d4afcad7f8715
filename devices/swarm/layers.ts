import { errorOf, findApproach } from './clearance.ts'
import type {
  FormationUnit,
  LeastDistance,
  Place,
  StrategyJob,
  StrategyPlan,
  UnitMove,
} from './planned-formation.ts'

/** Most layers: more would take a swarm out of sight. */
const MAX_LAYERS = 8

/** Height of a layer in required distances: rotors disturb the air below them. */
const HEIGHT_FACTOR = 2

/**
 * Moves units at once, at altitudes that differ for those that would come too close: up or down to
 * the layer, across, and back to the own altitude. Undefined where a unit cannot fly, its altitudes
 * have no room for the layers, or an obstacle is in the way.
 */
export const planLayers = (job: StrategyJob): StrategyPlan | undefined => {
  const { units, moves, required_m, tolerances } = job
  if (units.some(({ altitudes }) => altitudes === undefined)) return undefined
  const errors_m = 2 * tolerances.position_m
  if (isBlocked(job, required_m + errors_m)) return undefined
  const layers = chooseLayers(listConflicts(job))
  if (Math.max(...layers) >= MAX_LAYERS) return undefined
  const height_m = HEIGHT_FACTOR * required_m + errors_m
  const lowest_m = Math.max(...units.map(lowestOf))
  const altitudes = layers.map(layer => lowest_m + layer * height_m)
  if (units.some((unit, index) => (altitudes[index] as number) > highestOf(unit))) return undefined
  const raise = (place: Place, index: number): Place => ({
    ...place,
    altitude_m: altitudes[index] as number,
  })
  const plain = moves.map(({ device_id, from, to }) => ({ device_id, from, to }))
  return {
    stages: [
      plain.map((move, index) => ({ ...move, to: raise(move.from, index) })),
      plain.map((move, index) => ({
        ...move,
        from: raise(move.from, index),
        to: raise(move.to, index),
      })),
      plain.map((move, index) => ({ ...move, from: raise(move.to, index) })),
    ],
    clearance: findLeast(job, layers, height_m),
  }
}

const lowestOf = ({ place, altitudes }: FormationUnit): number =>
  Math.max(place.altitude_m, altitudes?.min_m ?? 0)

const highestOf = ({ altitudes }: FormationUnit): number => altitudes?.max_m ?? 0

/** True when an obstacle is too close to a way; its altitude does not matter. */
const isBlocked = ({ moves, obstacles }: StrategyJob, distance_m: number): boolean =>
  obstacles.some(({ place }) =>
    moves.some(move => findApproach(move, { from: place, to: place }).distance < distance_m),
  )

/** Lists, for each unit, the earlier units that it would come too close to. */
const listConflicts = ({ moves, required_m, tolerances }: StrategyJob): number[][] =>
  moves.map((move, index) =>
    moves.slice(0, index).flatMap((other, earlier) => {
      const worst = findApproach(move, other).distance - errorOf(move, other, tolerances)
      return worst < required_m ? [earlier] : []
    }),
  )

/** Gives each unit the lowest layer that no unit in conflict with it has. */
const chooseLayers = (conflicts: readonly (readonly number[])[]): number[] => {
  const layers: number[] = []
  for (const earlier of conflicts) {
    const taken = new Set(earlier.map(index => layers[index]))
    let layer = 0
    while (taken.has(layer)) layer++
    layers.push(layer)
  }
  return layers
}

/** Least distances in all three stages; units change their altitudes at the ends of their ways. */
const findLeast = (
  { moves, tolerances }: StrategyJob,
  layers: readonly number[],
  height_m: number,
): LeastDistance => {
  const errors_m = 2 * tolerances.position_m
  const least = { least_m: Number.POSITIVE_INFINITY, least_with_errors_m: Number.POSITIVE_INFINITY }
  const note = (distance_m: number, error_m: number): void => {
    least.least_m = Math.min(least.least_m, distance_m)
    least.least_with_errors_m = Math.min(least.least_with_errors_m, distance_m - error_m)
  }
  for (const [index, move] of moves.entries())
    for (const [earlier, other] of moves.slice(0, index).entries()) {
      note(distanceOf(move.from, other.from), errors_m)
      note(distanceOf(move.to, other.to), errors_m)
      const apart_m = Math.abs((layers[index] as number) - (layers[earlier] as number)) * height_m
      if (apart_m > 0) note(apart_m, errors_m)
      else note(findApproach(move, other).distance, errorOf(move, other, tolerances))
    }
  return least
}

const distanceOf = (one: UnitMove['from'], other: UnitMove['from']): number =>
  Math.hypot(one.x - other.x, one.y - other.y)
