import { MODEL_KINDS } from '../../../shared/catalogue.ts'
import { createMetric, type Metric } from '../../../shared/metrics/metric.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import { type Cell, engineReports, isRoutable } from '../../fleet/cells/cell.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import { PRESENCES } from '../../fleet/cells/presence.ts'
import { BREAKER_STATES } from '../../fleet/routing/health/breaker.ts'

/**
 * The fleet as a whole, from what the cells said last. Nothing here has a cell as a label: of ten
 * thousand cells that would be a megabyte; each exposes its own metrics.
 */
export const fleetMetrics = (fleet: Pick<Fleet, 'cells'>): readonly Metric[] => {
  const reports = oncePerScrape(() => routable(fleet).flatMap(engineReports))
  const sumByKind = (select: (report: EngineReport) => number) => () =>
    MODEL_KINDS.map(kind => ({
      labels: { kind },
      value: reports().reduce((sum, each) => sum + (each.kind === kind ? select(each) : 0), 0),
    }))
  return [
    {
      name: 'shoal_cells',
      type: 'gauge',
      help: 'Enrolled cells by presence.',
      labels: ['presence'],
      read: () => {
        const counts = Map.groupBy(fleet.cells(), cell => cell.presence)
        return PRESENCES.map(presence => ({
          labels: { presence },
          value: counts.get(presence)?.length ?? 0,
        }))
      },
    },
    {
      name: 'shoal_model_ready_cells',
      type: 'gauge',
      help: 'Cells that take requests and have the model loaded.',
      labels: ['model'],
      read: () => {
        const models = reports()
          .filter(report => report.state === 'ready')
          .flatMap(report => report.models)
        return [...Map.groupBy(models, model => model)].map(([model, { length }]) => ({
          labels: { model },
          value: length,
        }))
      },
    },
    createMetric(
      {
        name: 'shoal_models_ready',
        type: 'gauge',
        help: 'Models that are loaded on a cell that takes requests.',
      },
      () => new Set(reports().flatMap(each => (each.state === 'ready' ? each.models : []))).size,
    ),
    {
      name: 'shoal_engine_breakers',
      type: 'gauge',
      help: 'Engines of cells that take requests, by the state of their circuit breaker.',
      labels: ['state'],
      read: () => {
        const nowMs = systemRuntime.nowMs()
        const engines = routable(fleet).flatMap(({ engines }) => [...engines.values()])
        const states = Map.groupBy(engines, each => each.health?.breaker.state(nowMs) ?? 'closed')
        return BREAKER_STATES.map(state => ({
          labels: { state },
          value: states.get(state)?.length ?? 0,
        }))
      },
    },
    {
      name: 'shoal_fleet_slots',
      type: 'gauge',
      help: 'Requests that the engines of cells that take requests can run at once.',
      labels: ['kind'],
      read: sumByKind(report => report.slots),
    },
    {
      name: 'shoal_fleet_slots_busy',
      type: 'gauge',
      help: 'Of these, those that run now.',
      labels: ['kind'],
      read: sumByKind(report => report.slots_busy),
    },
    {
      name: 'shoal_fleet_queued',
      type: 'gauge',
      help: 'Requests that wait for a slot on those cells.',
      labels: ['kind'],
      read: sumByKind(report => report.queued),
    },
  ]
}

const routable = (fleet: Pick<Fleet, 'cells'>): Cell[] => [...fleet.cells()].filter(isRoutable)

/** Several metrics are made of the same; ten thousand cells are looked through once for all. */
const SCRAPE_MS = 50

const oncePerScrape = (make: () => EngineReport[]): (() => EngineReport[]) => {
  let last: { at: number; value: EngineReport[] } | undefined
  return () => {
    const at = systemRuntime.nowMs()
    if (last === undefined || at - last.at > SCRAPE_MS) last = { at, value: make() }
    return last.value
  }
}
