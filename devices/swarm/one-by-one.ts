import { type Clearance, findApproach, type Tolerances } from './clearance.ts'
import type { Point } from './formation.ts'
import type { FormationUnit, UnitMove } from './planned-formation.ts'

/** What a strategy other than the direct one works on; the moves are in the order of the units. */
export interface StrategyJob {
  units: readonly FormationUnit[]
  moves: readonly UnitMove[]
  required_m: number
  tolerances: Tolerances
}

/** Most units that move one after another: each step looks at every pair. */
const MAX_UNITS = 200

/**
 * Orders moves so that each unit moves alone, past units that stand still. Undefined where no unit
 * that is left has a free way.
 */
export const planOneByOne = ({
  moves,
  required_m,
  tolerances,
}: StrategyJob):
  | { moves: UnitMove[]; clearance: Pick<Clearance, 'least_m' | 'least_with_errors_m'> }
  | undefined => {
  if (moves.length > MAX_UNITS) return undefined
  const errors_m = 2 * tolerances.position_m
  const standing: Point[] = moves.map(({ from }) => from)
  const left = new Set(moves.keys())
  const ordered: UnitMove[] = []
  let least_m = Number.POSITIVE_INFINITY
  while (left.size > 0) {
    const next = findFree(left, moves, standing, required_m + errors_m)
    if (next === undefined) return undefined
    const move = moves[next.index] as UnitMove
    ordered.push(move)
    least_m = Math.min(least_m, next.least_m)
    standing[next.index] = move.to
    left.delete(next.index)
  }
  return { moves: ordered, clearance: { least_m, least_with_errors_m: least_m - errors_m } }
}

/** The first unit whose way keeps the distance from all that stand. */
const findFree = (
  left: ReadonlySet<number>,
  moves: readonly UnitMove[],
  standing: readonly Point[],
  distance_m: number,
): { index: number; least_m: number } | undefined => {
  for (const index of left) {
    const move = moves[index] as UnitMove
    let least_m = Number.POSITIVE_INFINITY
    for (const [other, point] of standing.entries())
      if (other !== index)
        least_m = Math.min(least_m, findApproach(move, { from: point, to: point }).distance)
    if (least_m >= distance_m) return { index, least_m }
  }
  return undefined
}
