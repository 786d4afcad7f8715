import type { Announce } from '../../../shared/wire/announce.ts'
import type { EngineReport, Sample } from '../../../shared/wire/telemetry.ts'
import { believeClaims, type CellEngine, capacity, noteRoom } from '../routing/engine.ts'
import { estimateQueue, estimateSlots } from '../routing/health/claims.ts'
import { rankOf } from '../routing/placement.ts'
import type { CellLink } from './cell-link.ts'
import { type DeclaredState, type Presence, takesRequests } from './presence.ts'

/** Latest state of one enrolled cell, as known to the coordinator. */
export interface Cell {
  id: string
  /** State the cell last declared; undefined until it declares one after a coordinator restart. */
  declared: DeclaredState | undefined
  /** Epoch of the start that it has ended cleanly: a last will of it says nothing more. */
  stoppedEpoch?: number | undefined
  /** The operator wants no new requests on it. */
  drained: boolean
  presence: Presence
  /** Boot epoch of the daemon: messages of an older one are stale. */
  epoch: number
  /** A lower one that it has come with since: it was set back, and is not heard. */
  staleEpoch?: number | undefined
  /** Arrival time of the last packet, in monotonic milliseconds. */
  seenAtMs: number
  /** A standstill of ours was put down to us since then; that is done once. */
  forgiven: boolean
  announce: Announce | undefined
  sample: Sample | undefined
  /**
   * Lead of the cell's clock over the coordinator's, transit included; undefined before a sample.
   */
  clockAheadMs: number | undefined
  link: CellLink | undefined
  /** The link owes the answer to a ping: it takes no new requests. */
  isLinkLate: boolean
  /** Engines by weights file. They keep their counters while the cell's reports change. */
  engines: Map<string, CellEngine>
}

export const newCell = (id: string, epoch: number): Cell => ({
  id,
  declared: undefined,
  drained: false,
  presence: 'unknown',
  epoch,
  seenAtMs: Number.NEGATIVE_INFINITY,
  forgiven: false,
  announce: undefined,
  sample: undefined,
  clockAheadMs: undefined,
  link: undefined,
  isLinkLate: false,
  engines: new Map(),
})

/** The newest reports of the cell's engines. */
export const engineReports = (cell: Cell): EngineReport[] =>
  cell.sample?.engines ?? cell.announce?.engines ?? []

export const isRoutable = (cell: Cell): boolean =>
  takesRequests(cell.presence) && cell.link !== undefined && !cell.isLinkLate

/**
 * Returns the engine that serves each model id on this cell; empty when the cell is not routable.
 */
export const resolveEngines = (cell: Cell): Map<string, CellEngine> => {
  const serving = new Map<string, CellEngine>()
  if (!isRoutable(cell)) return serving
  for (const report of engineReports(cell)) {
    if (report.state === 'failed') continue
    const engine = engineFor(cell, report)
    for (const model of report.models) serving.set(model, engine)
  }
  return serving
}

const engineFor = (cell: Cell, report: EngineReport): CellEngine => {
  const link = cell.link as CellLink
  const engine = cell.engines.get(report.weights) ?? newEngine(cell, link, report)
  engine.claims = { slots: report.slots, queue: report.queue_limit }
  believeClaims(engine)
  engine.contextLength = report.context_length
  engine.link = link
  engine.ready = report.state === 'ready'
  engine.suits = engine.ready ? undefined : rankOf(report, cell.sample)
  return engine
}

const newEngine = (cell: Cell, link: CellLink, report: EngineReport): CellEngine => {
  const { slots_busy, queued } = report
  const others = slots_busy + queued
  const slots = estimateSlots(report.slots, undefined)
  const engine: CellEngine = {
    cellId: cell.id,
    link,
    slots,
    queue: estimateQueue(report.queue_limit, slots),
    inFlight: 0,
    others,
    ready: false,
    fullUntilMs: 0,
    refusals: 0,
    lostAtMs: Number.NEGATIVE_INFINITY,
    trail: { level: 0, atMs: 0 },
    health: undefined,
    contextLength: report.context_length,
    pools: [],
  }
  cell.engines.set(report.weights, engine)
  return engine
}

/**
 * Takes over what the newest reports say of the load of others; only when they are new, because
 * our own part of it is known as of now. Sound engines that are gone are forgotten.
 */
export const countOthers = (cell: Cell): void => {
  const gone = new Set(cell.engines.keys())
  for (const { weights, slots_busy, queued } of engineReports(cell)) {
    gone.delete(weights)
    const engine = cell.engines.get(weights)
    if (engine) engine.others = Math.max(0, slots_busy + queued - engine.inFlight)
    // as of now there may be room again; a cell that has none says so itself
    if (engine && placesLeft(engine) > 0) noteRoom(engine)
  }
  for (const weights of gone)
    if (isForgettable(cell.engines.get(weights))) cell.engines.delete(weights)
}

/** An open breaker is kept: a cell cannot close it by leaving the engine out of one report. */
const isForgettable = (engine: CellEngine | undefined): boolean =>
  engine?.inFlight === 0 && engine.health?.breaker.isClosed !== false

/** Requests the engine can take beside those that it has, by the cell's last report. */
export const placesLeft = (engine: CellEngine): number =>
  capacity(engine) - engine.inFlight - engine.others
