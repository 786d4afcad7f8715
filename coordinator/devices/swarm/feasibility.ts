import { ShoalError } from '../../../shared/errors.ts'
import type { FormationPlan } from './formation-plan.ts'
import type { Exclusion, SwarmUnit } from './members.ts'
import { type Bystander, findObstacle, type PlannedWays } from './planned-ways.ts'

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

/**
 * Checks the ways of a plan against devices that are no part of it, where they are now. A device may
 * have come after the plan was made, and a cell sees only its own.
 * @throws ShoalError conflict that names the device
 */
export const requireFreeWays = (plan: PlannedWays, present: readonly Bystander[]): void => {
  const obstacle = findObstacle(plan, present)
  if (obstacle !== undefined)
    throw new ShoalError('conflict', `${obstacle}; move it away, or plan another formation`)
}

/** Describes a device that may stand in any way, because its place is not known here. */
export const describeUnseen = (excluded: readonly Exclusion[]): string | undefined => {
  const unseen = excluded.find(({ isUnseen }) => isUnseen)
  if (unseen === undefined) return undefined
  const { device, message } = unseen
  return (
    `the place of ${device.facts.name} (${device.id}) is unknown or stale here, and it may stand in ` +
    `the way (${message}); wait until its position is known, switch it off, or give it another site`
  )
}

/** @throws ShoalError cell_unavailable that names a device whose place is not known here */
export const requireKnownPlaces = (excluded: readonly Exclusion[]): void => {
  const refusal = describeUnseen(excluded)
  if (refusal !== undefined) throw new ShoalError('cell_unavailable', refusal)
}
