import type { Point } from './formation.ts'

/** Straight move of a unit; all moves of a plan begin and end at the same moments. */
export interface Move {
  from: Point
  to: Point
}

/** Errors that a plan must bear. */
export interface Tolerances {
  /** Largest error of a position, in metres. */
  position_m: number
  /** Largest difference between the starts of two units, in milliseconds. */
  skew_ms: number
}

export interface Clearance {
  /** Least distance of two centres at any moment, in metres; infinity for a single unit. */
  least_m: number
  /** The same with errors at their worst; may be negative. */
  least_with_errors_m: number
  /** Indexes of the two moves that come closest; undefined for a single unit. */
  pair: readonly [number, number] | undefined
  /** Share of the duration at which they do, from 0 to 1. */
  at: number
}

/** Finds how close units come to each other on synchronised straight moves. */
export const findClearance = (
  moves: readonly Move[],
  duration_s: number,
  tolerances: Tolerances,
): Clearance => {
  const found: Clearance = {
    least_m: Number.POSITIVE_INFINITY,
    least_with_errors_m: Number.POSITIVE_INFINITY,
    pair: undefined,
    at: 0,
  }
  const skewShare = duration_s > 0 ? tolerances.skew_ms / 1000 / duration_s : 0
  // the time scale is that of all moves, so that its steepest part is no longer than twice the mean
  const lengths = moves.map(move => lengthOf(move) * 2 * skewShare)
  for (let first = 0; first < moves.length; first++)
    for (let second = first + 1; second < moves.length; second++) {
      const { distance, at } = findApproach(moves[first] as Move, moves[second] as Move)
      const slip = Math.max(lengths[first] as number, lengths[second] as number)
      const worst = distance - 2 * tolerances.position_m - slip
      found.least_with_errors_m = Math.min(found.least_with_errors_m, worst)
      if (distance >= found.least_m) continue
      found.least_m = distance
      found.pair = [first, second]
      found.at = at
    }
  return found
}

export const lengthOf = ({ from, to }: Move): number => Math.hypot(to.x - from.x, to.y - from.y)

/** Least distance of two synchronised moves, and the share of the duration at which they have it. */
export const findApproach = (one: Move, other: Move): { distance: number; at: number } => {
  const [px, py] = [one.from.x - other.from.x, one.from.y - other.from.y]
  const vx = one.to.x - other.to.x - px
  const vy = one.to.y - other.to.y - py
  const speed = vx * vx + vy * vy
  const at = speed === 0 ? 0 : Math.min(1, Math.max(0, -(px * vx + py * vy) / speed))
  return { distance: Math.hypot(px + at * vx, py + at * vy), at }
}
