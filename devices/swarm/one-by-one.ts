import { findApproach } from './clearance.ts'
import type { Point } from './formation.ts'
import type { StrategyJob, StrategyPlan, UnitMove } from './planned-formation.ts'

/** Most units that move one after another. */
const MAX_UNITS = 200

/**
 * Orders moves so that each unit moves alone, past units that stand still: away from a way before
 * it is used, and onto it only afterwards. Undefined where no such order exists.
 */
export const planOneByOne = (job: StrategyJob): StrategyPlan | undefined => {
  const { moves, tolerances } = job
  if (moves.length > MAX_UNITS || isBlocked(job)) return undefined
  const order = sortByPrecedence(listPredecessors(job))
  if (order === undefined) return undefined
  const errors_m = 2 * tolerances.position_m
  const least_m = findLeast(job, order)
  return {
    stages: order.map(index => {
      const { device_id, from, to } = moves[index] as UnitMove
      return [{ device_id, from, to }]
    }),
    clearance: { least_m, least_with_errors_m: least_m - errors_m },
  }
}

/** Least distance of a move to a point that stands. */
const distanceTo = (move: UnitMove, point: Point): number =>
  findApproach(move, { from: point, to: point }).distance

const isBlocked = ({ moves, obstacles, required_m, tolerances }: StrategyJob): boolean =>
  obstacles.some(({ place }) =>
    moves.some(move => distanceTo(move, place) < required_m + 2 * tolerances.position_m),
  )

/** Lists, for each move, the moves that must come before it. */
const listPredecessors = ({ moves, required_m, tolerances }: StrategyJob): Set<number>[] => {
  const distance_m = required_m + 2 * tolerances.position_m
  const predecessors = moves.map(() => new Set<number>())
  for (const [index, move] of moves.entries())
    for (const [other, { from, to }] of moves.entries()) {
      if (other === index) continue
      if (distanceTo(move, from) < distance_m) predecessors[index]?.add(other)
      if (distanceTo(move, to) < distance_m) predecessors[other]?.add(index)
    }
  return predecessors
}

/** An order in which every move comes after its predecessors; undefined for a cycle. */
const sortByPrecedence = (predecessors: readonly Set<number>[]): number[] | undefined => {
  const order: number[] = []
  const left = new Set(predecessors.keys())
  while (left.size > 0) {
    const next = [...left].find(index =>
      [...(predecessors[index] as Set<number>)].every(before => !left.has(before)),
    )
    if (next === undefined) return undefined
    order.push(next)
    left.delete(next)
  }
  return order
}

const findLeast = ({ moves, obstacles }: StrategyJob, order: readonly number[]): number => {
  const standing: Point[] = moves.map(({ from }) => from)
  let least_m = Number.POSITIVE_INFINITY
  for (const index of order) {
    const move = moves[index] as UnitMove
    const others = [...standing.toSpliced(index, 1), ...obstacles.map(({ place }) => place)]
    least_m = Math.min(least_m, ...others.map(point => distanceTo(move, point)))
    standing[index] = move.to
  }
  return least_m
}
