import type { Fleet } from '../../fleet/cells/fleet.ts'
import { isPresent } from '../../fleet/cells/presence.ts'
import type { Devices } from '../inventory/devices.ts'
import type { StartedFormation } from './formation.table.ts'
import { findCloseDevice, findObstacle } from './planned-ways.ts'
import { placeOf } from './site-place.ts'

interface IntrusionParts {
  devices: Pick<Devices, 'get' | 'list' | 'state'>
  fleet: Pick<Fleet, 'cell'>
}

/**
 * Finds a device of the site that is no part of a formation and has come too close to its ways or
 * units, and describes it. Each coordinator knows the places of the devices whose cells are connected
 * to it: all coordinators together watch all of them. As at the start, the last known place counts,
 * and a device whose place is unknown is not seen.
 */
export const findIntrusion = (
  { plan, startAt }: Pick<StartedFormation, 'plan' | 'startAt'>,
  now: number,
  { devices, fleet }: IntrusionParts,
): string | undefined => {
  const [unit] = plan.units.flatMap(({ device_id }) => devices.get(device_id) ?? [])
  if (unit === undefined) return undefined
  const present = devices
    .list()
    .filter(({ facts, cellId }) => {
      // a state of a cell that has moved to another coordinator grows old here
      const isHere = isPresent(fleet.cell(cellId)?.presence ?? 'unknown')
      return isHere && facts.site === unit.facts.site
    })
    .map(device => ({ device, place: placeOf(devices.state(device), plan.origin) }))
  return findObstacle(plan, present, (now - startAt) / 1000) ?? findCloseDevice(plan, present)
}
