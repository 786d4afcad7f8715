import { findApproach } from '../../devices/swarm/clearance.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { FormationMove } from '../../shared/wire/formation.ts'
import type { FormationPlan } from './formation-plan.ts'
import type { Exclusion, SwarmUnit } from './members.ts'

type PlannedCells = Pick<FormationPlan, 'cells' | 'units'>

/** True while each unit of a plan can take part and is where the plan begins. */
export const isAtStart = (
  { cells, units }: PlannedCells,
  present: readonly Pick<SwarmUnit, 'device_id' | 'place'>[],
  position_m: number,
): boolean => {
  const places = new Map(present.map(({ device_id, place }) => [device_id, place]))
  const starts = new Map(
    cells
      .flatMap(({ params }) => params.stages.toReversed())
      .flatMap(({ moves }) => moves.map(({ device_id, from }) => [device_id, from] as const)),
  )
  return units.every(({ device_id }) => {
    const [place, from] = [places.get(device_id), starts.get(device_id)]
    if (place === undefined) return false
    if (from === undefined) return true
    const [x, y, altitude] = from
    return Math.hypot(place.x - x, place.y - y, place.altitude_m - altitude) <= position_m
  })
}

interface Bystander {
  device: Pick<SwarmUnit['device'], 'id' | 'facts'>
  place?: Exclusion['place'] | undefined
}

/**
 * Checks the ways of a plan against devices that are no part of it, where they are now. A device may
 * have come after the plan was made, and a cell sees only its own.
 * @throws ShoalError conflict that names the device
 */
export const requireFreeWays = (
  {
    cells,
    units,
    required_m,
    position_m,
  }: PlannedCells & Pick<FormationPlan, 'required_m' | 'position_m'>,
  present: readonly Bystander[],
): void => {
  const own = new Set(units.map(({ device_id }) => device_id))
  const moves = cells.flatMap(({ params }) => params.stages.flatMap(stage => stage.moves))
  for (const { device, place } of present) {
    if (place === undefined || own.has(device.id)) continue
    const distance_m = measureLeast(moves, place) - 2 * position_m
    if (distance_m >= required_m) continue
    throw new ShoalError(
      'conflict',
      `${device.facts.name} (${device.id}) stands ${distance_m.toFixed(2)} m from the way of a unit ` +
        `with errors at their worst, and ${required_m.toFixed(2)} m is required; move it away, or ` +
        'plan another formation',
    )
  }
}

/** Least distance of the ways from a point, at any altitude; infinity without a move. */
const measureLeast = (moves: readonly FormationMove[], point: { x: number; y: number }): number =>
  Math.min(
    ...moves.map(
      ({ from, to }) =>
        findApproach({ from: toPoint(from), to: toPoint(to) }, { from: point, to: point }).distance,
    ),
  )

const toPoint = ([x, y]: FormationMove['from']) => ({ x, y })
