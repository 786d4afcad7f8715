import type { FormationUnit, PacedUnitMove, Stage, UnitMove } from './planned-formation.ts'
import { createPace, createTimeScale, type LimitedMove, type TimeScale } from './time-scale.ts'

/** Creates stages that follow one another, with a pause between two. */
export const createStages = (
  units: readonly FormationUnit[],
  stages: readonly (readonly UnitMove[])[],
  pause_ms: number,
): Stage[] => {
  const limits = new Map(units.map(unit => [unit.device_id, unit]))
  const created: Stage[] = []
  let begins_s = 0
  for (const moves of stages) {
    const { scale, moves: paced } = paceMoves(moves, limits)
    if (scale.duration_s === 0) continue
    created.push({ begins_s, scale, moves: paced.filter(({ pace }) => pace.speed_m_s > 0) })
    begins_s += scale.duration_s + pause_ms / 1000
  }
  return created
}

/** Time from the start of the first stage to the end of the last one. */
export const durationOf = (stages: readonly Stage[]): number => {
  const last = stages.at(-1)
  return last === undefined ? 0 : last.begins_s + last.scale.duration_s
}

/** Gives each move its pace in the shortest common time scale. */
export const paceMoves = (
  moves: readonly UnitMove[],
  limits: ReadonlyMap<string, FormationUnit>,
): { scale: TimeScale; moves: PacedUnitMove[] } => {
  const limited = moves.map(move => ({ move, ...limitMove(move, limits) }))
  const scale = createTimeScale(limited)
  return {
    scale,
    moves: limited.map(({ move, ...limit }) => ({ ...move, pace: createPace(limit, scale) })),
  }
}

const limitMove = (
  { device_id, from, to }: UnitMove,
  limits: ReadonlyMap<string, FormationUnit>,
): LimitedMove => {
  const unit = limits.get(device_id)
  if (unit === undefined) throw new RangeError(`${device_id} is not one of the units`)
  return {
    length_m: Math.hypot(to.x - from.x, to.y - from.y, to.altitude_m - from.altitude_m),
    min_speed_m_s: unit.min_speed_m_s,
    max_speed_m_s: unit.max_speed_m_s,
    max_acceleration_m_s2: unit.max_acceleration_m_s2,
  }
}
