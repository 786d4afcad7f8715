import type { Announce } from '../../shared/wire/announce.ts'
import type { EngineReport, Sample } from '../../shared/wire/telemetry.ts'
import type { CellLink } from './cell-link.ts'
import type { Declared, Presence } from './presence.ts'
import type { Engine } from './router.ts'

/** What the coordinator knows of one enrolled cell; the latest of everything. */
export interface Cell {
  id: string
  /** What it said of itself last; undefined until its first birth after a start of ours. */
  declared: Declared | undefined
  presence: Presence
  /** Boot epoch of the daemon: messages of an older one are stale. */
  epoch: number
  /** When the last packet came, by the monotonic clock, milliseconds. */
  seenAtMs: number
  announce: Announce | undefined
  sample: Sample | undefined
  link: CellLink | undefined
  /** By weights file. They keep their counters while a cell's reports change. */
  engines: Map<string, Engine>
}

export const newCell = (id: string, epoch: number): Cell => ({
  id,
  declared: undefined,
  presence: 'unknown',
  epoch,
  seenAtMs: Number.NEGATIVE_INFINITY,
  announce: undefined,
  sample: undefined,
  link: undefined,
  engines: new Map(),
})

/** The newest reports of the cell's engines. */
export const engineReports = (cell: Cell): EngineReport[] =>
  cell.sample?.engines ?? cell.announce?.engines ?? []

export const isRoutable = (cell: Cell): boolean =>
  cell.presence === 'ready' && cell.link !== undefined

/** Which engine serves which model id on this cell now; empty when it must not be asked. */
export const servingOf = (cell: Cell): Map<string, Engine> => {
  const serving = new Map<string, Engine>()
  if (!isRoutable(cell)) return serving
  for (const report of engineReports(cell)) {
    if (report.state === 'failed') continue
    const engine = engineFor(cell, report)
    for (const model of report.models) serving.set(model, engine)
  }
  return serving
}

const engineFor = (cell: Cell, report: EngineReport): Engine => {
  const link = cell.link as CellLink
  const known = cell.engines.get(report.weights)
  const engine = known ?? { cellId: cell.id, link, slots: 1, inFlight: 0, others: 0, ready: false }
  engine.slots = report.slots
  engine.link = link
  engine.ready = report.state === 'ready'
  engine.others = Math.max(0, report.slots_busy + report.queued - engine.inFlight)
  cell.engines.set(report.weights, engine)
  return engine
}
