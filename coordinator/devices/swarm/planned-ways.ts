import { findApproach } from '../../../devices/swarm/clearance.ts'
import type { Point } from '../../../devices/swarm/formation.ts'
import type { Device } from '../inventory/device.table.ts'
import type { ApprovedFormation } from './formation.table.ts'

export type PlannedWays = Pick<ApprovedFormation, 'cells' | 'units' | 'required_m' | 'position_m'>

/** A device, and its place where that is known. */
export interface Bystander {
  device: Pick<Device, 'id' | 'facts'>
  place?: Point | undefined
}

/** Straight way of a unit; of one that stands, both ends are the same. */
interface Way {
  name: string
  from: Point
  to: Point
}

/**
 * Finds a device that is no part of a plan and too close to one of its ways, at any altitude, and
 * describes both. A way that is over at `elapsed_s` after the start has shrunk to its end.
 */
export const findObstacle = (
  plan: PlannedWays,
  present: readonly Bystander[],
  elapsed_s = Number.NEGATIVE_INFINITY,
): string | undefined => {
  const { position_m, required_m } = plan
  const ways = listWays(plan, elapsed_s)
  for (const { device, place } of listOthers(plan, present)) {
    const { name, distance_m } = findNearest(ways, place)
    const worst_m = distance_m - 2 * position_m
    if (worst_m < required_m)
      return (
        `${device.facts.name} (${device.id}) is ${worst_m.toFixed(2)} m from the way of ${name} ` +
        `with errors at their worst, and ${required_m.toFixed(2)} m is required`
      )
  }
  return undefined
}

/**
 * Finds a device that is no part of a plan and too close to where a unit is now, and describes both.
 * The errors of positions belong to the ways: a unit off its way has used them up.
 */
export const findCloseDevice = (
  plan: PlannedWays,
  present: readonly Bystander[],
): string | undefined => {
  const { required_m } = plan
  const names = new Map(plan.units.map(({ device_id, name }) => [device_id, name]))
  const units = present.flatMap(({ device, place }): Way[] => {
    const name = names.get(device.id)
    return name === undefined || place === undefined ? [] : [{ name, from: place, to: place }]
  })
  for (const { device, place } of listOthers(plan, present)) {
    const { name, distance_m } = findNearest(units, place)
    if (distance_m < required_m)
      return (
        `${device.facts.name} (${device.id}) is ${distance_m.toFixed(2)} m from ${name}, ` +
        `and ${required_m.toFixed(2)} m is required`
      )
  }
  return undefined
}

const listOthers = ({ units }: PlannedWays, present: readonly Bystander[]) => {
  const own = new Set(units.map(({ device_id }) => device_id))
  return present.flatMap(({ device, place }) =>
    place === undefined || own.has(device.id) ? [] : [{ device, place }],
  )
}

const listWays = ({ cells, units }: PlannedWays, elapsed_s: number): Way[] => {
  const names = new Map(units.map(({ device_id, name }) => [device_id, name]))
  const moves = cells
    .flatMap(({ params }) => params.stages)
    .flatMap(({ begins_s, duration_s, moves: ofStage }) =>
      ofStage.map(move => ({ ...move, isOver: begins_s + duration_s < elapsed_s })),
    )
  const moved = new Set(moves.map(({ device_id }) => device_id))
  const standing = units.filter(({ device_id }) => !moved.has(device_id))
  return [
    ...moves.map(({ device_id, from, to, isOver }) => ({
      name: names.get(device_id) ?? device_id,
      from: toPoint(isOver ? to : from),
      to: toPoint(to),
    })),
    ...standing.map(({ name, slot }) => ({ name, from: toPoint(slot), to: toPoint(slot) })),
  ]
}

/** Nearest way to a point, and its distance; infinity without a way. */
const findNearest = (ways: readonly Way[], place: Point): { name: string; distance_m: number } => {
  let nearest = { name: '', distance_m: Number.POSITIVE_INFINITY }
  for (const way of ways) {
    const { distance } = findApproach(way, { from: place, to: place })
    if (distance < nearest.distance_m) nearest = { name: way.name, distance_m: distance }
  }
  return nearest
}

const toPoint = ([x = 0, y = 0]: readonly number[]): Point => ({ x, y })
