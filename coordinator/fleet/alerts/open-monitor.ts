import type { Catalogue } from '../../../shared/catalogue.ts'
import type { GuardedAudit } from '../../kernel/audit/open.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { FleetListeners } from '../cells/open.ts'
import { listPromisedModels } from '../cells/promised-models.ts'
import { PublishedPresence } from '../cells/published-presence.ts'
import type { Observation } from './alert-rules.ts'
import { createMonitor, type Monitor, type RunningMonitor } from './monitor.ts'

interface MonitorDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'nowMs' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  /** Models that clients may name. */
  catalogue: Catalogue
  store: Pick<Store, 'ledger' | 'records' | 'revisions'>
  fleet: Pick<Fleet, 'cells' | 'serves' | 'recallStop'>
  fleetListeners: FleetListeners
  admission: { listQuarantined(): Iterable<string> }
  audit: Pick<GuardedAudit, 'trouble'>
  usage: {
    onRecorded(listener: (row: { status: string; at: number }) => void): () => void
    trouble(): string | undefined
  }
  events: Pick<Events, 'addWithin' | 'subscribe'>
  replicas: Pick<Replicas, 'live' | 'owns'>
}

/** Alerts, as operations see them. */
export interface MonitorViews {
  monitor: Monitor
}

interface OpenMonitor {
  monitor: RunningMonitor
  publishedPresence: PublishedPresence
  /** Sources of observations beside the cells, for domains that open later. */
  alertSources: Set<() => Iterable<Observation>>
  views: MonitorViews
}

const TICK_SECONDS = 1
const RECOUNT_SECONDS = 60

export const openMonitor = async (parts: MonitorDomainParts): Promise<OpenMonitor> => {
  const { store, fleet, fleetListeners, admission, audit, usage, events, replicas } = parts
  const { catalogue, stack, schedules, leaderWork, logger, now, nowMs } = parts
  const told = await PublishedPresence.open(store.ledger, events)
  const alertSources: OpenMonitor['alertSources'] = new Set()
  const monitor = await createMonitor({
    alertSources,
    store,
    logger,
    cells: () => fleet.cells(),
    reportedPresence: cellId => told.of(cellId),
    listModels: () => listPromisedModels(catalogue, fleet),
    listQuarantined: () => admission.listQuarantined(),
    auditTrouble: () => audit.trouble(),
    usageTrouble: () => usage.trouble(),
    owns: cellId => replicas.owns(cellId),
    now,
    nowMs,
    runtime: parts.runtime,
    events,
  })
  stack.defer(() => monitor.close())
  told.changes.add(monitor.noteReported)
  fleetListeners.presenceChanges.add(monitor.notePresence)
  for (const { id } of fleet.cells()) if (told.of(id) === 'stopped') fleet.recallStop(id)
  fleetListeners.removals.add(monitor.forget)
  fleetListeners.samples.add(monitor.addSample)
  fleetListeners.lateSamples.add(monitor.addLateSamples)
  usage.onRecorded(({ status, at }) => {
    if (status === 'ok') monitor.countCompleted(at)
  })
  schedules.every('fleet.watch', TICK_SECONDS, () => monitor.tick())
  schedules.every('fleet.recount', RECOUNT_SECONDS, async () => {
    // requests that others have served are known from the store alone
    if (replicas.live().length > 1) await monitor.recountCompleted()
  })
  leaderWork.every('fleet.alerts', TICK_SECONDS, ledger => monitor.lookForAlerts(ledger))
  return { monitor, publishedPresence: told, alertSources, views: { monitor } }
}
