import { type Clearance, findApproach } from './clearance.ts'
import type { StrategyJob } from './one-by-one.ts'
import type { FormationUnit, Place, UnitMove } from './planned-formation.ts'

/** Most layers: more would take a swarm out of sight. */
const MAX_LAYERS = 8

/**
 * Moves units at once, at altitudes that differ for those that would come too close: up or down to
 * the layer, across, and back to the own altitude. Undefined where a unit cannot fly, or its
 * altitudes have no room for the layers.
 */
export const planLayers = (
  job: StrategyJob,
):
  | { stages: UnitMove[][]; clearance: Pick<Clearance, 'least_m' | 'least_with_errors_m'> }
  | undefined => {
  const { units, moves, required_m, tolerances } = job
  if (units.some(({ altitudes }) => altitudes === undefined)) return undefined
  const errors_m = 2 * tolerances.position_m
  const apart_m = required_m + errors_m
  const conflicts = listConflicts(moves, apart_m + slipOf(job))
  const layers = colour(conflicts)
  if (layers === undefined || Math.max(...layers) >= MAX_LAYERS) return undefined
  const lowest_m = Math.max(...units.map(lowestOf))
  const altitude = (layer: number): number => lowest_m + layer * apart_m
  if (units.some((unit, index) => altitude(layers[index] as number) > highestOf(unit)))
    return undefined
  const lift = (place: Place, index: number): Place => ({
    ...place,
    altitude_m: altitude(layers[index] as number),
  })
  const least_m = leastOf(moves, layers, apart_m)
  return {
    stages: [
      moves.map((move, index) => ({ ...move, to: lift(move.from, index) })),
      moves.map((move, index) => ({
        ...move,
        from: lift(move.from, index),
        to: lift(move.to, index),
      })),
      moves.map((move, index) => ({ ...move, from: lift(move.to, index) })),
    ],
    clearance: { least_m, least_with_errors_m: least_m - errors_m },
  }
}

const lowestOf = ({ place, altitudes }: FormationUnit): number =>
  Math.max(place.altitude_m, altitudes?.min_m ?? 0)

const highestOf = ({ altitudes }: FormationUnit): number => altitudes?.max_m ?? 0

/** Longest way that a unit makes within the skew of the starts, at its highest speed. */
const slipOf = ({ units, tolerances }: StrategyJob): number =>
  (Math.max(...units.map(({ max_speed_m_s }) => max_speed_m_s)) * tolerances.skew_ms) / 1000

/** Per unit, those before it that it would come too close to. */
const listConflicts = (moves: readonly UnitMove[], distance_m: number): number[][] =>
  moves.map((move, index) =>
    moves
      .slice(0, index)
      .flatMap((other, earlier) =>
        findApproach(move, other).distance < distance_m ? [earlier] : [],
      ),
  )

/** Gives each unit the lowest layer that no unit in conflict with it has. */
const colour = (conflicts: readonly (readonly number[])[]): number[] | undefined => {
  const layers: number[] = []
  for (const earlier of conflicts) {
    const taken = new Set(earlier.map(index => layers[index]))
    let layer = 0
    while (taken.has(layer)) layer++
    layers.push(layer)
  }
  return layers.length === 0 ? undefined : layers
}

/** Least distance of two units while they move across. */
const leastOf = (
  moves: readonly UnitMove[],
  layers: readonly number[],
  apart_m: number,
): number => {
  let least = Number.POSITIVE_INFINITY
  for (const [index, move] of moves.entries())
    for (let earlier = 0; earlier < index; earlier++) {
      const { distance } = findApproach(move, moves[earlier] as UnitMove)
      const height = ((layers[index] as number) - (layers[earlier] as number)) * apart_m
      least = Math.min(least, Math.hypot(distance, height))
    }
  return least
}
