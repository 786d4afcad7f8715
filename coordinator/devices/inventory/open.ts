import type { Observation } from '../../fleet/alerts/alert-rules.ts'
import type { RefusedDevice } from '../../fleet/broker/admit-devices.ts'
import type { DeviceReceiver } from '../../fleet/broker/receivers.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { FleetListeners } from '../../fleet/cells/open.ts'
import type { PublishedPresence } from '../../fleet/cells/published-presence.ts'
import type { Base } from '../../kernel/base/base.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Device } from './device.table.ts'
import { DeviceInventory } from './device-inventory.ts'
import { DeviceRecorder } from './device-recorder.ts'
import { deleteGoneDevices, readQuarantined } from './device-rows.ts'
import type { DeviceSeries } from './device-series.ts'
import { DeviceStates } from './device-states.ts'
import { Devices } from './devices.ts'
import { followCells, listAnnounced, listMisjudged } from './follow-cells.ts'
import { observeRefused } from './observe-refused.ts'
import { openDeviceSeries } from './open-series.ts'

interface DeviceDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger' | 'records' | 'revisions'>
  replicas: Pick<Replicas, 'owns'>
  budgets: Pick<Budgets, 'deviceStates'>
  events: Pick<Events, 'addWithin'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  fleetListeners: Pick<FleetListeners, 'births' | 'removals'>
  publishedPresence: Pick<PublishedPresence, 'of' | 'changes'>
  alertSources: Set<() => Iterable<Observation>>
}

export interface DeviceViews {
  devices: Devices
  deviceSeries: Pick<DeviceSeries, 'points'>
}

const RETRY_SECONDS = 1
const COMPARE_SECONDS = 30
const PRUNE_SECONDS = 3600
/** Time for which a device that no cell announces keeps its labels. */
const KEEP_GONE_MS = 90 * 86_400_000

/** The devices that cells announce, with their newest states. */
export const openDevices = async (
  parts: DeviceDomainParts,
): Promise<{ devices: Devices; deviceReceiver: DeviceReceiver; views: DeviceViews }> => {
  const { store, fleet, schedules, leaderWork, now } = parts
  const { ledger } = store
  const inventory = new DeviceInventory(ledger, parts.logger)
  await inventory.read()
  const states = new DeviceStates(parts.budgets.deviceStates)
  const { recorder, look, noteMisjudged } = openRecorder(parts, inventory)
  followCells({ ...parts, inventory, recorder, states })
  schedules.every('devices.retry', RETRY_SECONDS, () => recorder.retry())
  leaderWork.every('devices.presence', COMPARE_SECONDS, () => noteMisjudged(inventory.list()))
  leaderWork.every('devices.prune', PRUNE_SECONDS, fenced =>
    fenced.sealed.write(trx => deleteGoneDevices(trx, now() - KEEP_GONE_MS)),
  )
  const devices = new Devices({ ...parts, ledger, inventory, states, look })
  const deviceSeries = openDeviceSeries({ ...parts, devices })
  const onStates: DeviceReceiver['onStates'] = (cellId, received, clockAheadMs) => {
    const announced = listAnnounced(fleet.cell(cellId) ?? { announce: undefined })
    states.put(cellId, received, { clockAheadMs, announced })
  }
  const onRefused = openRefused(parts, inventory)
  return { devices, deviceReceiver: { onStates, onRefused }, views: { devices, deviceSeries } }
}

/** Remembers the refused devices of each cell, which an alert shows while the cell is connected. */
const openRefused = (
  { alertSources, fleet, fleetListeners, logger }: DeviceDomainParts,
  inventory: DeviceInventory,
): DeviceReceiver['onRefused'] => {
  const refused = new Map<string, readonly RefusedDevice[]>()
  alertSources.add(() => observeRefused({ cells: fleet.cells(), inventory, refused }))
  fleetListeners.removals.add(cellId => refused.delete(cellId))
  return (cellId, devices) => {
    if (devices.length === 0) return void refused.delete(cellId)
    if (!refused.has(cellId))
      logger.warn({ cell: cellId, devices }, 'devices of a cell are refused')
    refused.set(cellId, devices)
  }
}

/** Opens the recorder; the inventory follows what this coordinator and the others record. */
const openRecorder = (parts: DeviceDomainParts, inventory: DeviceInventory) => {
  const { store, fleet, publishedPresence, stack, logger, runtime } = parts
  const noteMisjudged = async (devices: readonly Device[]): Promise<void> => {
    const quarantined = await readQuarantined(store.ledger.read)
    for (const cellId of listMisjudged(devices, publishedPresence, quarantined))
      recorder.note(cellId, 'presence')
  }
  const changes = followChanges({
    subscribe: listener => store.revisions.onChange('devices', listener),
    // the presence of a cell may have changed before its devices were known here
    read: async () => noteMisjudged(await inventory.read()),
    onFailure: error => logger.warn({ err: error }, 'devices were not read'),
    runtime,
  })
  stack.defer(() => changes.close())
  const recorder = new DeviceRecorder({
    ...parts,
    ledger: store.ledger,
    announced: cellId => fleet.cell(cellId)?.announce,
    onChange: () => void changes.look(),
  })
  stack.defer(() => recorder.close())
  return { recorder, look: changes.look, noteMisjudged }
}
