import { isDeepStrictEqual } from 'node:util'
import type { Cell } from '../../fleet/cells/cell.ts'
import type { FleetListeners } from '../../fleet/cells/open.ts'
import { isGone, isPresent } from '../../fleet/cells/presence.ts'
import type { PublishedPresence } from '../../fleet/cells/published-presence.ts'
import { createClaimantPresence } from './claimant-presence.ts'
import type { Device } from './device.table.ts'
import type { DeviceInventory } from './device-inventory.ts'
import type { DeviceRecorder } from './device-recorder.ts'
import type { DeviceStates } from './device-states.ts'
import { listClaims } from './list-claims.ts'

interface FollowParts {
  fleetListeners: Pick<FleetListeners, 'births' | 'removals'>
  publishedPresence: Pick<PublishedPresence, 'changes'>
  inventory: Pick<DeviceInventory, 'listByCell'>
  recorder: Pick<DeviceRecorder, 'note'>
  states: Pick<DeviceStates, 'keep' | 'forget'>
}

/** Records the devices of cells that announce themselves, change presence or are removed. */
export const followCells = (parts: FollowParts): void => {
  const { fleetListeners, publishedPresence, inventory, recorder, states } = parts
  const hasDevices = (cellId: string): boolean => inventory.listByCell(cellId).length > 0
  fleetListeners.births.add(cell => {
    states.keep(cell.id, listAnnounced(cell))
    if (!isAsStored(cell, inventory)) recorder.note(cell.id, 'birth')
  })
  fleetListeners.removals.add(cellId => {
    states.forget(cellId)
    if (hasDevices(cellId)) recorder.note(cellId, 'removal')
  })
  publishedPresence.changes.add(cellId => {
    if (hasDevices(cellId)) recorder.note(cellId, 'presence')
  })
}

/** Ids of the devices that a cell announces. */
export const listAnnounced = ({ announce }: Pick<Cell, 'announce'>): ReadonlySet<string> =>
  new Set(announce?.devices?.map(({ device_id }) => device_id))

/** True when the store has exactly what the cell announces: then its birth writes nothing. */
const isAsStored = (
  { id, announce }: Cell,
  inventory: Pick<DeviceInventory, 'listByCell'>,
): boolean => {
  const claims = listClaims(id, announce ?? {}, 0)
  const stored = inventory.listByCell(id)
  return (
    stored.length === claims.size &&
    stored.every(device => {
      const claim = claims.get(device.id)
      if (claim === undefined || device.cellId !== id) return false
      return device.kind === claim.kind && isDeepStrictEqual(device.facts, claim.facts)
    })
  )
}

/** Cells with a device that is stored as available and is not, or the other way round. */
export const listMisjudged = (
  devices: readonly Device[],
  presence: Pick<PublishedPresence, 'of'>,
  quarantined: ReadonlySet<string>,
): Set<string> => {
  const presenceOf = createClaimantPresence(cellId => presence.of(cellId), quarantined)
  const isConnected = (cellId: string): boolean => isPresent(presenceOf(cellId))
  const wrong = devices.filter(({ cellId, alsoOn, facts, isAvailable }) => {
    const isAway = isGone(presenceOf(cellId)) && alsoOn.some(isConnected)
    return isAway || isAvailable !== (facts.available && isConnected(cellId))
  })
  return new Set(wrong.map(({ cellId }) => cellId))
}
