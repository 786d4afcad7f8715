import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Sample } from '../../../shared/wire/telemetry.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import type { Cell } from '../cells/cell.ts'
import { createMassLoss, type MassLoss } from '../cells/mass-loss.ts'
import { isPresent, type Presence } from '../cells/presence.ts'
import type { PromisedModel } from '../cells/promised-models.ts'
import { createThroughput, recallThroughput } from '../cells/throughput.ts'
import { createUtilizationMonitor, type UtilizationMonitor } from '../cells/utilization.ts'
import { Series } from '../series/series.ts'
import { createSeriesStore } from '../series/series-store.ts'
import type { Observation } from './alert-rules.ts'
import { AlertWatch } from './alert-watch.ts'
import { Alerts, type ReportMore } from './alerts.ts'
import { createWatch } from './watch.ts'

/**
 * State derived from the registry: series, utilisation, alerts, and whether the fleet is degraded.
 */
export interface Monitor {
  points: Series['points']
  pointsOfCells: Series['pointsOfCells']
  energy: Series['energy']
  utilization: UtilizationMonitor['read']
  /** Active alerts, newest first, followed by the most recently cleared ones. */
  alerts: Alerts['list']
  acknowledge: Alerts['acknowledge']
  /** True when the fleet lost over half of its cells at once and has not recovered yet. */
  isDegraded(): boolean
}

export interface RunningMonitor extends Monitor {
  /** Notes how this coordinator sees a cell. */
  notePresence(cell: Cell, from: Presence): void
  /** Notes what was reported of a cell over all coordinators. */
  noteReported(cellId: string, presence: Presence): void
  forget(cellId: string): void
  addSample(cell: Cell, sample: Sample): void
  addLateSamples: (cell: Cell, samples: Sample[], clockAheadMs: number) => void
  /** Counts an inference request that completed at this Unix time, in milliseconds. */
  countCompleted(at: number): void
  /** Counts the newest requests of all coordinators; call it once per minute. */
  recountCompleted(): Promise<void>
  /** Writes the rows that are due; call it once per second. */
  tick(): Promise<void>
  /** Raises and clears alerts; the leader calls it once per second. */
  lookForAlerts(ledger: Ledger): Promise<void>
  close(): Promise<void>
}

interface MonitorParts {
  store: Pick<Store, 'ledger' | 'records' | 'revisions'>
  logger: Logger
  cells: () => Iterable<Cell>
  /** Presence of a cell over all coordinators; undefined while unknown. */
  reportedPresence?: (cellId: string) => Presence | undefined
  /** The models that the catalogue promises. */
  listModels?: () => readonly PromisedModel[]
  /** Ids of the cells in quarantine. */
  listQuarantined?: () => Iterable<string>
  /** Fault of the audit; undefined while the audit is intact. */
  auditTrouble?: () => string | undefined
  /** Description of missing usage records; undefined while they are complete. */
  usageTrouble?: () => string | undefined
  /** Further sources of observations, for alerts. */
  alertSources?: Iterable<() => Iterable<Observation>>
  /** True while this coordinator writes the live samples of a cell. */
  owns?: (cellId: string) => boolean
  /** Unix time, milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  runtime: Pick<Runtime, 'setTimeout' | 'ids'>
  events: Pick<Events, 'addWithin'>
}

/** Usage reaches the store within this time. */
const RECOUNTED_MINUTES = 3
/** Time in which the cells come back after a start. */
const STARTING_MS = 90_000

export const createMonitor = async (parts: MonitorParts): Promise<RunningMonitor> => {
  const { store, logger, cells, now, nowMs, reportedPresence = () => undefined } = parts
  const series = new Series({ ...parts, store: createSeriesStore(store.records, logger) })
  const throughput = createThroughput(now)
  await recallThroughput(store.records, throughput, now())
  const itemsPerHour = throughput.lastHour
  const utilization = createUtilizationMonitor({ cells, itemsPerHour, now })
  const massLoss = createMassLoss(nowMs, (degraded, missing, present) =>
    logger.warn({ missing, present }, degraded ? 'fleet degraded' : 'fleet recovered'),
  )
  const alerts = await Alerts.open({ ...parts, moreEvents: reportFleet(massLoss) })
  const alertWatch = new AlertWatch(nowMs)
  const startedAtMs = nowMs()
  const observe = createWatch({
    ...parts,
    massLoss,
    isSeenElsewhere: cellId => isPresent(reportedPresence(cellId) ?? 'unknown'),
    isStopped: cellId => reportedPresence(cellId) === 'stopped',
    isStarting: () => nowMs() - startedAtMs < STARTING_MS,
  })
  const present = new Set<string>()

  return {
    points: (...query) => series.points(...query),
    pointsOfCells: (...query) => series.pointsOfCells(...query),
    energy: since => series.energy(since),
    utilization: utilization.read,
    alerts: alerts.list,
    acknowledge: alerts.acknowledge,
    isDegraded: massLoss.isDegraded,
    notePresence: (cell, from) => {
      if (isPresent(cell.presence)) {
        present.add(cell.id)
        massLoss.note(cell.id, cell.presence)
      } else present.delete(cell.id)
      if (isPresent(from) !== isPresent(cell.presence)) utilization.invalidate()
    },
    // a cell that has come back here meanwhile is not lost
    noteReported: (cellId, presence) => {
      if (!present.has(cellId)) massLoss.note(cellId, presence)
    },
    forget: cellId => {
      present.delete(cellId)
      massLoss.note(cellId, 'gone')
      utilization.invalidate()
    },
    addSample: (cell, sample) => series.addLive(cell.id, sample, cell.clockAheadMs ?? 0),
    addLateSamples: (cell, samples, clockAheadMs) => series.addLate(cell.id, samples, clockAheadMs),
    countCompleted: throughput.count,
    recountCompleted: () => recallThroughput(store.records, throughput, now(), RECOUNTED_MINUTES),
    tick: () => series.tick(),
    lookForAlerts: ledger => alerts.change(ledger, alertWatch.look(observe(), alerts.raised())),
    close: async () => {
      await series.flush()
      await alerts.close()
    },
  }
}

/** The fleet has its own events; they are those of its alert, so that each is reported once. */
const reportFleet =
  (massLoss: MassLoss): ReportMore =>
  ({ rule }, what) => {
    if (rule !== 'fleet_degraded') return []
    if (what === 'raised') return [{ type: 'shoal.fleet.degraded', data: massLoss.counts() }]
    return what === 'cleared' ? [{ type: 'shoal.fleet.recovered', data: massLoss.counts() }] : []
  }
