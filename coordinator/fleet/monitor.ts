import type { Logger } from 'pino'
import type { Sample } from '../../shared/wire/telemetry.ts'
import type { Records } from '../store/store.ts'
import { type Alert, type Alerts, createAlerts } from './alerts.ts'
import type { Cell } from './cell.ts'
import { createMassLoss } from './mass-loss.ts'
import { isPresent, type Presence } from './presence.ts'
import { Series } from './series.ts'
import { createSeriesStore } from './series-store.ts'
import { createThroughput, recallThroughput } from './throughput.ts'
import { createUtilizationMonitor, type UtilizationMonitor } from './utilization.ts'
import { createWatch } from './watch.ts'

/**
 * State derived from the registry: series, utilisation, alerts, and whether the fleet is degraded.
 */
export interface Monitor {
  points: Series['points']
  utilization: UtilizationMonitor['read']
  /** Active alerts, newest first, followed by the most recently cleared ones. */
  alerts(): Alert[]
  acknowledge: Alerts['acknowledge']
  /** True when the fleet lost over half of its cells at once and has not recovered yet. */
  isDegraded(): boolean
}

export interface RunningMonitor extends Monitor {
  notePresence(cell: Cell, from: Presence): void
  forget(cellId: string): void
  addSample(cell: Cell, sample: Sample): void
  addLateSamples: (cell: Cell, samples: Sample[], clockAheadMs: number) => void
  /** Counts an inference request that completed at this Unix time, in milliseconds. */
  countCompleted(at: number): void
  /** Evaluates the alerts and writes the rows that are due; call it once per second. */
  tick(): void
  close(): Promise<void>
}

interface MonitorParts {
  records: Records
  logger: Logger
  cells: () => Iterable<Cell>
  /** Ids of the cells in quarantine. */
  listQuarantined?: () => Iterable<string>
  /** Fault of the audit; undefined while the audit is intact. */
  auditTrouble?: () => string | undefined
  /** Unix time, milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  publish: (type: string, data: unknown, subject?: string) => void
}

export const createMonitor = async (parts: MonitorParts): Promise<RunningMonitor> => {
  const { records, logger, cells, now, nowMs, publish } = parts
  const series = await Series.open({ store: createSeriesStore(records), logger, now })
  const throughput = createThroughput(now)
  await recallThroughput(records, throughput, now())
  const itemsPerHour = throughput.lastHour
  const utilization = createUtilizationMonitor({ cells, itemsPerHour, now })
  const massLoss = createMassLoss(nowMs, (degraded, missing, present) => {
    logger.warn({ missing, present }, degraded ? 'fleet degraded' : 'fleet recovered')
    publish(`shoal.fleet.${degraded ? 'degraded' : 'recovered'}`, { missing, present })
  })
  const alerts = createAlerts({
    now,
    nowMs,
    onChange: (alert, what) => {
      logger.warn({ cell: alert.cellId, rule: alert.rule, message: alert.message }, `alert ${what}`)
      publish(`shoal.alert.${what}`, alertData(alert), alert.id)
    },
  })
  const watch = createWatch({
    cells,
    massLoss,
    alerts,
    ...(parts.listQuarantined && { listQuarantined: parts.listQuarantined }),
    ...(parts.auditTrouble && { auditTrouble: parts.auditTrouble }),
  })
  let writing = false

  const tick = (): void => {
    watch()
    if (writing) return
    writing = true
    series
      .tick()
      .catch(error => logger.warn({ err: error }, 'series could not be kept'))
      .finally(() => {
        writing = false
      })
  }

  return {
    points: (...query) => series.points(...query),
    utilization: utilization.read,
    alerts: alerts.list,
    acknowledge: alerts.acknowledge,
    isDegraded: massLoss.isDegraded,
    notePresence: (cell, from) => {
      massLoss.note(cell.id, cell.presence)
      if (isPresent(from) !== isPresent(cell.presence)) utilization.invalidate()
    },
    forget: cellId => {
      massLoss.note(cellId, 'gone')
      utilization.invalidate()
    },
    addSample: (cell, sample) => series.addLive(cell.id, sample, cell.clockAheadMs ?? 0),
    addLateSamples: (cell, samples, clockAheadMs) => series.addLate(cell.id, samples, clockAheadMs),
    countCompleted: throughput.count,
    tick,
    close: () => series.flush(),
  }
}

/** Converts an alert to its wire format. */
export const alertData = (alert: Alert) => ({
  id: alert.id,
  rule: alert.rule,
  level: alert.level,
  cell_id: alert.cellId ?? null,
  part: alert.part ?? null,
  message: alert.message,
  raised_at: new Date(alert.raisedAt).toISOString(),
  cleared_at: alert.clearedAt === undefined ? null : new Date(alert.clearedAt).toISOString(),
  acknowledged: alert.acknowledged
    ? {
        by: alert.acknowledged.by,
        at: new Date(alert.acknowledged.at).toISOString(),
        note: alert.acknowledged.note,
      }
    : null,
})
