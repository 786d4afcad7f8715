import { ShoalError } from '../../shared/errors.ts'
import { type Actor, createAudit } from '../audit/audit.ts'
import type { GuardedAudit } from '../audit/open.ts'
import type { Base } from '../base/base.ts'
import type { Events } from '../events/bus.ts'
import type { Store } from '../store/store.ts'
import type { Alert } from './alerts.ts'
import type { Fleet } from './fleet.ts'
import { createMonitor, type Monitor, type RunningMonitor } from './monitor.ts'
import type { FleetListeners } from './open.ts'

/** Monitor as exposed to operations. */
interface MonitorViews {
  monitor: Omit<Monitor, 'acknowledge'> & {
    /**
     * Assigns an alert to a person; without a note, removes the assignment. Alerts do not survive a
     * restart, so the change is written to the audit before it takes effect. Throws `not_found`,
     * and `conflict` for an alert that was cleared.
     */
    acknowledge(
      alertId: string,
      personId: string,
      note: string | undefined,
      by: Actor,
    ): Promise<Alert>
  }
}

interface MonitorDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'nowMs'> {
  store: Pick<Store, 'ledger' | 'records'>
  fleet: Pick<Fleet, 'cells'>
  fleetListeners: FleetListeners
  admission: { listQuarantined(): Iterable<string> }
  audit: Pick<GuardedAudit, 'trouble'>
  usage: { onRecorded(listener: (row: { status: string; at: number }) => void): () => void }
  events: Pick<Events, 'publish'>
}

const TICK_SECONDS = 1

export const openMonitor = async (
  parts: MonitorDomainParts,
): Promise<{ monitor: RunningMonitor; views: MonitorViews }> => {
  const { store, fleet, fleetListeners, admission, audit, usage, events } = parts
  const { stack, schedules, logger, now, nowMs } = parts
  const monitor = await createMonitor({
    records: store.records,
    logger,
    cells: () => fleet.cells(),
    listQuarantined: () => admission.listQuarantined(),
    auditTrouble: () => audit.trouble(),
    now,
    nowMs,
    publish: events.publish,
  })
  stack.defer(() => monitor.close())
  fleetListeners.presenceChanges.add(monitor.notePresence)
  fleetListeners.removals.add(monitor.forget)
  fleetListeners.samples.add(monitor.addSample)
  fleetListeners.lateSamples.add(monitor.addLateSamples)
  usage.onRecorded(({ status, at }) => {
    if (status === 'ok') monitor.countCompleted(at)
  })
  schedules.every('fleet.watch', TICK_SECONDS, () => monitor.tick())
  return { monitor, views: { monitor: createMonitorView(monitor, store) } }
}

/** Returns the monitor for operations, whose acknowledgements are audited. */
export const createMonitorView = (
  monitor: Monitor,
  store: Pick<Store, 'ledger'>,
): MonitorViews['monitor'] => {
  const { points, utilization, alerts, isDegraded } = monitor
  return { points, utilization, alerts, isDegraded, acknowledge: createAcknowledge(monitor, store) }
}

const createAcknowledge = (
  monitor: Monitor,
  store: Pick<Store, 'ledger'>,
): MonitorViews['monitor']['acknowledge'] => {
  const audit = createAudit(store)
  return async (alertId, personId, note, by) => {
    const found = monitor.alerts().find(({ id }) => id === alertId)
    if (found === undefined) throw new ShoalError('not_found', `no alert ${alertId}`)
    const { id, rule, cellId = null, clearedAt } = found
    if (clearedAt !== undefined)
      throw new ShoalError('conflict', `alert ${id} was cleared: there is nothing to look after`)
    await audit.append({
      ...by,
      subject: id,
      outcome: 'done',
      action: note === undefined ? 'alert.reopen' : 'alert.acknowledge',
      details: { rule, cell_id: cellId, ...(note && { note }) },
    })
    return monitor.acknowledge(id, note === undefined ? undefined : { by: personId, note })
  }
}
