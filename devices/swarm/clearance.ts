import type { Point } from './formation.ts'
import type { Pace } from './time-scale.ts'

/** Straight move of a unit; all moves of a stage follow one time scale. */
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
  /** Indexes of the two moves that come closest with errors; undefined for a single unit. */
  pair: readonly [number, number] | undefined
  /** Share of the duration at which they do, from 0 to 1. */
  at: number
}

/** Contribution of a move to the error of a distance. */
type PacedMove = Move & { pace?: Pick<Pace, 'speed_m_s' | 'deviation_m'> | undefined }

/**
 * Finds how close units come to each other on synchronised straight moves. A move without a pace is
 * one of a unit that stands.
 */
export const findClearance = (moves: readonly PacedMove[], tolerances: Tolerances): Clearance => {
  const found: Clearance = {
    least_m: Number.POSITIVE_INFINITY,
    least_with_errors_m: Number.POSITIVE_INFINITY,
    pair: undefined,
    at: 0,
  }
  for (let first = 0; first < moves.length; first++)
    for (let second = first + 1; second < moves.length; second++) {
      const [one, other] = [moves[first] as PacedMove, moves[second] as PacedMove]
      const { distance, at } = findApproach(one, other)
      found.least_m = Math.min(found.least_m, distance)
      const worst = distance - errorOf(one, other, tolerances)
      if (worst >= found.least_with_errors_m) continue
      found.least_with_errors_m = worst
      found.pair = [first, second]
      found.at = at
    }
  return found
}

/** Least distance of two synchronised moves, and the share of the duration at which they have it. */
export const findApproach = (one: Move, other: Move): { distance: number; at: number } => {
  const [px, py] = [one.from.x - other.from.x, one.from.y - other.from.y]
  const vx = one.to.x - other.to.x - px
  const vy = one.to.y - other.to.y - py
  const speed = vx * vx + vy * vy
  const at = speed === 0 ? 0 : Math.min(1, Math.max(0, -(px * vx + py * vy) / speed))
  return { distance: Math.hypot(px + at * vx, py + at * vy), at }
}

/**
 * Distance by which two units may be closer than planned: errors of both positions, deviations of
 * both paces, and the way of one of them within the skew. Only the slower one counts for the skew,
 * because the plan keeps its distance at the moment of either.
 */
export const errorOf = (
  { pace: one }: PacedMove,
  { pace: other }: PacedMove,
  { position_m, skew_ms }: Tolerances,
): number => {
  const speed = Math.min(one?.speed_m_s ?? 0, other?.speed_m_s ?? 0)
  const deviation = (one?.deviation_m ?? 0) + (other?.deviation_m ?? 0)
  return 2 * position_m + deviation + (speed * skew_ms) / 1000
}
