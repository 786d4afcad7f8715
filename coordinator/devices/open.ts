import { isDeepStrictEqual } from 'node:util'
import type { DeviceState } from '../../shared/wire/device.ts'
import type { Base } from '../base/base.ts'
import { followChanges } from '../base/follow-changes.ts'
import type { Events } from '../events/bus.ts'
import type { Cell } from '../fleet/cell.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { FleetListeners } from '../fleet/open.ts'
import { isPresent } from '../fleet/presence.ts'
import type { ToldPresence } from '../fleet/told-presence.ts'
import type { OpenLeader } from '../leader/open.ts'
import type { Store } from '../store/store.ts'
import { DeviceRecorder } from './device-recorder.ts'
import { DeviceRegistry } from './device-registry.ts'
import { deleteGoneDevices } from './device-rows.ts'
import { DeviceStates } from './device-states.ts'
import { Devices } from './devices.ts'
import { listClaims } from './list-claims.ts'

/** Receiver of what cells report about their devices. */
export interface DeviceEars {
  /** `clockAheadMs`: by how much the cell's clock was ahead of ours when the states arrived. */
  onStates(cellId: string, states: readonly DeviceState[], clockAheadMs: number): void
}

interface DeviceDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now'>,
    Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger' | 'revisions'>
  events: Pick<Events, 'addWithin'>
  fleet: Pick<Fleet, 'cell'>
  fleetListeners: Pick<FleetListeners, 'births' | 'removals'>
  toldPresence: Pick<ToldPresence, 'of' | 'changes'>
}

interface OpenDevices {
  devices: Devices
  deviceEars: DeviceEars
  views: { devices: Devices }
}

const RETRY_SECONDS = 1
const COMPARE_SECONDS = 30
const PRUNE_SECONDS = 3600
/** Time for which a device that no cell announces keeps its labels. */
const KEEP_GONE_MS = 90 * 86_400_000

/** The devices that cells announce, with their newest states. */
export const openDevices = async (parts: DeviceDomainParts): Promise<OpenDevices> => {
  const { store, fleet, fleetListeners, toldPresence, stack, schedules, leaderWork, now } = parts
  const { logger } = parts
  const registry = new DeviceRegistry(store.ledger)
  await registry.read()
  const states = new DeviceStates()
  const changes = followChanges({
    subscribe: listener => store.revisions.onChange('devices', listener),
    read: registry.read,
    onFailure: error => logger.warn({ err: error }, 'devices were not read'),
  })
  stack.defer(() => changes.close())
  const recorder = new DeviceRecorder({
    ...parts,
    ledger: store.ledger,
    announced: cellId => fleet.cell(cellId)?.announce,
    onChange: () => void changes.look(),
  })
  stack.defer(() => recorder.waitForWrites())
  fleetListeners.births.add(cell => {
    states.keep(cell.id, id => announces(cell, id))
    if (!isAsStored(cell, registry)) recorder.note(cell.id, 'birth')
  })
  fleetListeners.removals.add(cellId => {
    states.forget(cellId)
    if (registry.listByCell(cellId).length > 0) recorder.note(cellId, 'removal')
  })
  stack.defer(
    toldPresence.changes.add(cellId => {
      if (registry.listByCell(cellId).length > 0) recorder.note(cellId, 'presence')
    }),
  )
  schedules.every('devices.retry', RETRY_SECONDS, () => recorder.retry())
  leaderWork.every('devices.presence', COMPARE_SECONDS, () => {
    for (const cellId of listMisjudged(registry, toldPresence)) recorder.note(cellId, 'presence')
  })
  leaderWork.every('devices.prune', PRUNE_SECONDS, ledger =>
    ledger.sealed.write(trx => deleteGoneDevices(trx, now() - KEEP_GONE_MS)),
  )
  const devices = new Devices({ ...parts, ledger: store.ledger, registry, states })
  const onStates: DeviceEars['onStates'] = (cellId, received, clockAheadMs) => {
    const cell = fleet.cell(cellId)
    if (cell === undefined) return
    states.put(cellId, received, { clockAheadMs, isAnnounced: id => announces(cell, id) })
  }
  return { devices, deviceEars: { onStates }, views: { devices } }
}

const announces = ({ announce }: Pick<Cell, 'announce'>, deviceId: string): boolean =>
  announce?.devices?.some(({ device_id }) => device_id === deviceId) === true

/** True when the store has exactly what the cell announces: then its birth writes nothing. */
const isAsStored = ({ id, announce }: Cell, registry: DeviceRegistry): boolean => {
  const claims = listClaims(id, announce ?? {}, 0)
  const stored = registry.listByCell(id)
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
const listMisjudged = (
  registry: DeviceRegistry,
  presence: Pick<ToldPresence, 'of'>,
): Set<string> => {
  const isConnected = (cellId: string): boolean => isPresent(presence.of(cellId) ?? 'unknown')
  const wrong = registry.list().filter(({ cellId, alsoOn, facts, isAvailable }) => {
    const isHere = isConnected(cellId)
    return isAvailable !== (facts.available && isHere) || (!isHere && alsoOn.some(isConnected))
  })
  return new Set(wrong.map(({ cellId }) => cellId))
}
