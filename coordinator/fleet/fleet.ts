import { ShoalError } from '../../shared/errors.ts'
import type { Announce } from '../../shared/wire/announce.ts'
import type { Sample } from '../../shared/wire/telemetry.ts'
import { type Cell, countOthers, engineReports, isRoutable, newCell, servingOf } from './cell.ts'
import type { CellLink } from './cell-link.ts'
import {
  type Declared,
  isPresent,
  type Presence,
  type PresenceLimits,
  presenceOf,
} from './presence.ts'
import { createRouter, type Engine, type Router } from './router.ts'

export interface FleetParts {
  limits: PresenceLimits
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Told of every change of presence, after it took effect. */
  changed: (cell: Cell, from: Presence) => void
  forgotten?: (cellId: string) => void
  /** Told of every birth that is not heard because the cell has shown a higher epoch before. */
  setBack?: (cell: Cell) => void
  /** A cell that is enrolled says something, but what it is was not heard since our start. */
  unannounced?: (cellId: string) => void
  /** Told after what is routed to a cell may have changed: engines, their room, or its link. */
  routed?: (cell: Cell) => void
  /** Told of every sample that was accepted. */
  sampled?: (cell: Cell, sample: Sample) => void
  late?: (cell: Cell, samples: Sample[], clockAheadMs: number) => void
  router?: Router
}

/**
 * The registry of cells: presence with boot epochs and leases, the newest facts and samples, and
 * the index the router picks from. Everything here is in memory and is rebuilt by the cells'
 * births after a restart.
 */
export interface Fleet {
  /** Makes an enrolled cell known; `epoch` is the highest one seen before. */
  admit(cellId: string, epoch: number): void
  forget(cellId: string): void
  /** A packet came: the lease is renewed. */
  seen(cellId: string): void
  /** Throws `invalid_request` for an epoch that no number of starts explains. */
  birth(cellId: string, epoch: number, announce: Announce): void
  state(cellId: string, epoch: number, declared: Declared): void
  /** `clockAheadMs`: how far the cell's clock was ahead of ours when this arrived. */
  sample(cellId: string, epoch: number, sample: Sample, clockAheadMs?: number): void
  /** Samples that were taken while the cell was away; they never replace a newer one. */
  late(cellId: string, epoch: number, samples: Sample[], clockAheadMs: number): void
  /** Takes a cell out of routing for new requests, or back in; running ones end by themselves. */
  drain(cellId: string, drained: boolean): void
  linkUp(link: CellLink): void
  linkDown(link: CellLink): void
  /** Applies the silence limits; call it a few times a second. */
  sweep(): void
  pick: Router['pick']
  cell(cellId: string): Cell | undefined
  cells(): Iterable<Cell>
  /** Model ids that at least one routable cell serves or can load. */
  serves(model: string): boolean
  /** Round trips of the links of routable cells, milliseconds. */
  roundTripsMs(): number[]
}

export const createFleet = (parts: FleetParts): Fleet => {
  const { limits, nowMs, changed, router = createRouter() } = parts
  const cells = new Map<string, Cell>()
  const stall = createStall()

  const route = (cell: Cell): void => {
    router.update(cell.id, servingOf(cell))
    parts.routed?.(cell)
  }

  /** Derives presence anew; routing follows before anybody is told. `heard`: reports are new. */
  const settle = (cell: Cell, heard = false): void => {
    const from = cell.presence
    const { declared, drained } = cell
    const failing = engineReports(cell).some(report => report.state === 'failed')
    const signs = { declared, drained, failing, silentMs: nowMs() - cell.seenAtMs }
    cell.presence = presenceOf(signs, limits)
    if (heard) countOthers(cell)
    if (heard || cell.presence !== from) route(cell)
    if (cell.presence !== from) changed(cell, from)
  }

  /** The cell, unless it is not enrolled or the message is from before its last start. */
  const current = (cellId: string, epoch: number): Cell | undefined => {
    const cell = cells.get(cellId)
    return cell === undefined || epoch < cell.epoch ? undefined : cell
  }

  const noteStale = (cellId: string, epoch: number): void => {
    const cell = cells.get(cellId)
    if (cell === undefined) return
    cell.staleEpoch = epoch
    parts.setBack?.(cell)
  }

  const seen = (cellId: string): void => {
    const cell = cells.get(cellId)
    if (cell === undefined) return
    heard(cell, nowMs())
    if (cell.presence === 'suspect' || cell.presence === 'dead') settle(cell)
  }

  const birth = (cellId: string, epoch: number, announce: Announce): void => {
    const cell = current(cellId, epoch)
    if (cell === undefined) {
      noteStale(cellId, epoch)
      return
    }
    requireStep(cell.epoch, epoch)
    cell.staleEpoch = undefined
    if (epoch > cell.epoch) cell.sample = undefined
    else if (cell.sample) cell.sample = { ...cell.sample, engines: announce.engines }
    cell.epoch = epoch
    cell.announce = announce
    heard(cell, nowMs())
    settle(cell, true)
  }

  /** The cell, if it has said what it is; else it is asked to say so again. */
  const announced = (cellId: string, epoch: number): Cell | undefined => {
    const cell = current(cellId, epoch)
    if (cell?.announce !== undefined) return cell
    if (cell !== undefined) parts.unannounced?.(cellId)
    return undefined
  }

  const state = (cellId: string, epoch: number, declared: Declared): void => {
    const cell = announced(cellId, epoch)
    if (cell === undefined) return
    cell.declared = declared
    heard(cell, nowMs())
    settle(cell)
  }

  const sample: Fleet['sample'] = (cellId, epoch, next, clockAheadMs) => {
    const cell = announced(cellId, epoch)
    if (cell === undefined) return
    cell.sample = next
    cell.clockAheadMs = clockAheadMs
    heard(cell, nowMs())
    settle(cell, true)
    parts.sampled?.(cell, next)
  }

  const late: Fleet['late'] = (cellId, epoch, samples, clockAheadMs) => {
    const cell = current(cellId, epoch)
    if (cell?.announce !== undefined) parts.late?.(cell, samples, clockAheadMs)
  }

  const drain = (cellId: string, drained: boolean): void => {
    const cell = cells.get(cellId)
    if (cell === undefined || cell.drained === drained) return
    cell.drained = drained
    settle(cell)
  }

  const linkUp = (link: CellLink): void => {
    const cell = cells.get(link.cellId)
    if (cell === undefined) {
      link.close()
      return
    }
    const old = cell.link
    cell.link = link
    route(cell)
    old?.close()
  }

  const linkDown = (link: CellLink): void => {
    const cell = cells.get(link.cellId)
    if (cell?.link !== link) return
    cell.link = undefined
    route(cell)
  }

  const sweep = (): void => {
    const stalledMs = stall.since(nowMs())
    for (const cell of cells.values()) {
      forgive(cell, stalledMs, nowMs())
      if (isPresent(cell.presence) || cell.presence === 'suspect') settle(cell)
    }
  }

  const forget = (cellId: string): void => {
    const cell = cells.get(cellId)
    cells.delete(cellId)
    parts.forgotten?.(cellId)
    router.update(cellId, new Map<string, Engine>())
    cell?.link?.close()
  }

  return {
    admit: (cellId, epoch) => {
      if (!cells.has(cellId)) cells.set(cellId, newCell(cellId, epoch))
    },
    forget,
    seen,
    birth,
    state,
    sample,
    late,
    drain,
    linkUp,
    linkDown,
    sweep,
    pick: router.pick,
    cell: cellId => cells.get(cellId),
    cells: () => cells.values(),
    serves: model => router.count(model) > 0,
    roundTripsMs: () => roundTrips(cells.values()),
  }
}

/** The epoch grows by one with every start: more would only shut the cell out for good. */
const MAX_EPOCH_STEP = 1_000_000

const requireStep = (before: number, epoch: number): void => {
  if (epoch - before > MAX_EPOCH_STEP)
    throw new ShoalError('invalid_request', `epoch ${epoch} cannot follow ${before}`)
}

/** Two sweeps further apart than this mean that we did not listen, not that the cells were silent. */
const STALL_MS = 2000

/** How long this process stood still since the last look: packets of that time are still unread. */
const createStall = () => {
  let lookedAtMs: number | undefined
  const since = (nowMs: number): number => {
    const gapMs = nowMs - (lookedAtMs ?? nowMs)
    lookedAtMs = nowMs
    return gapMs > STALL_MS ? gapMs : 0
  }
  return { since }
}

const heard = (cell: Cell, now: number): void => {
  cell.seenAtMs = now
  cell.forgiven = false
}

/** One standstill for each silence: however often we stall, a silent cell is found out. */
const forgive = (cell: Cell, stalledMs: number, now: number): void => {
  if (stalledMs === 0 || cell.forgiven) return
  cell.seenAtMs = Math.min(now, cell.seenAtMs + stalledMs)
  cell.forgiven = true
}

const roundTrips = (cells: Iterable<Cell>): number[] => {
  const found: number[] = []
  for (const cell of cells) {
    const trip = isRoutable(cell) ? cell.link?.roundTripMs() : undefined
    if (trip !== undefined) found.push(trip)
  }
  return found
}

/** Model ids that are loaded on a routable cell now. */
export const readyModels = (cells: Iterable<Cell>): Set<string> => {
  const ready = new Set<string>()
  for (const cell of cells) {
    if (!isRoutable(cell)) continue
    for (const report of engineReports(cell))
      if (report.state === 'ready') for (const model of report.models) ready.add(model)
  }
  return ready
}
