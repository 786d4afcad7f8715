import { ShoalError } from '../../../shared/errors.ts'
import type { Announce } from '../../../shared/wire/announce.ts'
import { FIRST_CAPABILITY, NEEDS } from '../../../shared/wire/capability.ts'
import type { Sample } from '../../../shared/wire/telemetry.ts'
import { type CellEngine, Router } from '../routing/router.ts'
import {
  type Cell,
  countOthers,
  engineReports,
  isRoutable,
  newCell,
  resolveEngines,
} from './cell.ts'
import type { CellLink } from './cell-link.ts'
import {
  type DeclaredState,
  isGone,
  isPresent,
  type Presence,
  type PresenceLimits,
  presenceOf,
} from './presence.ts'
import { Standstill } from './standstill.ts'

interface FleetParts {
  limits: PresenceLimits
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Runs on every change of presence, after it took effect. */
  onPresenceChange: (cell: Cell, from: Presence) => void
  onForget?: (cellId: string) => void
  /** Runs for every accepted birth. */
  onBirth?: (cell: Cell) => void
  /** Runs for a birth that is ignored because the cell has shown a higher epoch before. */
  onStaleBirth?: (cell: Cell) => void
  /** Runs when an enrolled cell reports something before its birth since this start. */
  onUnannounced?: (cellId: string) => void
  /** Runs after the routable state of a cell may have changed: engines, their room, its link. */
  onRoutingChange?: (cell: Cell) => void
  /** Runs for every accepted sample. */
  onSample?: (cell: Cell, sample: Sample) => void
  onLateSamples?: (cell: Cell, samples: Sample[], clockAheadMs: number) => void
  router?: Router
  standstill?: Standstill
}

/**
 * The registry of cells: presence with boot epochs and leases, the newest facts and samples, and
 * the index the router picks from. Everything here is in memory and is rebuilt by the cells'
 * births after a restart.
 */
export class Fleet {
  readonly #parts: FleetParts
  readonly #router: Router
  readonly #cells = new Map<string, Cell>()
  /** Ids of drained cells, also of those that are not registered now. */
  readonly #drained = new Set<string>()
  readonly #standstill: Standstill

  constructor(parts: FleetParts) {
    this.#parts = parts
    this.#router = parts.router ?? new Router()
    this.#standstill = parts.standstill ?? new Standstill()
  }

  /** Registers an enrolled cell; `epoch` is the highest one seen before. */
  admit(cellId: string, epoch: number): void {
    if (this.#cells.has(cellId)) return
    const cell = newCell(cellId, epoch)
    cell.drained = this.#drained.has(cellId)
    this.#cells.set(cellId, cell)
  }

  /** Notes that a cell was shut down cleanly before this start; whatever it says since counts more. */
  recallStop(cellId: string): void {
    const cell = this.#cells.get(cellId)
    if (cell === undefined || cell.declared !== undefined) return
    cell.declared = 'stopped'
    cell.stoppedEpoch = cell.epoch
    this.#settle(cell)
  }

  forget(cellId: string): void {
    const cell = this.#cells.get(cellId)
    this.#cells.delete(cellId)
    this.#parts.onForget?.(cellId)
    this.#router.update(cellId, new Map<string, CellEngine>())
    cell?.link?.close()
  }

  /** Renews the lease of a cell that sent a packet. */
  touch(cellId: string): void {
    const cell = this.#cells.get(cellId)
    if (cell === undefined) return
    renewLease(cell, this.#parts.nowMs())
    if (cell.presence === 'suspect' || isGone(cell.presence)) this.#settle(cell)
  }

  /** Throws `invalid_request` for an epoch that no number of starts explains. */
  birth(cellId: string, epoch: number, announce: Announce): void {
    const cell = this.#findCurrent(cellId, epoch)
    if (cell === undefined) {
      this.#noteStale(cellId, epoch)
      return
    }
    requireStep(cell.epoch, epoch)
    cell.staleEpoch = undefined
    if (epoch > cell.epoch) cell.sample = undefined
    else if (cell.sample) cell.sample = { ...cell.sample, engines: announce.engines }
    cell.epoch = epoch
    cell.announce = announce
    renewLease(cell, this.#parts.nowMs())
    this.#settle(cell, true)
    this.#parts.onBirth?.(cell)
  }

  state(cellId: string, epoch: number, declared: DeclaredState): void {
    const cell = this.#findAnnounced(cellId, epoch)
    if (cell === undefined) return
    const nowMs = this.#parts.nowMs()
    // a cell leaves a coordinator that stands still and comes back; if it does not, its silence tells
    if (declared === 'lost' && this.#standstill.hasBeenSince(nowMs, nowMs)) return
    // a connection may break after the last word, when the machine goes down meanwhile
    if (declared === 'lost' && cell.stoppedEpoch === epoch) return
    cell.stoppedEpoch = declared === 'stopped' ? epoch : undefined
    cell.declared = declared
    renewLease(cell, nowMs)
    this.#settle(cell)
  }

  /** `clockAheadMs`: by how much the cell's clock was ahead of ours when the sample arrived. */
  sample(cellId: string, epoch: number, sample: Sample, clockAheadMs?: number): void {
    const cell = this.#findAnnounced(cellId, epoch)
    if (cell === undefined) return
    cell.sample = sample
    cell.clockAheadMs = clockAheadMs
    renewLease(cell, this.#parts.nowMs())
    this.#settle(cell, true)
    this.#parts.onSample?.(cell, sample)
  }

  /** Takes samples from the time when the cell was away; they never replace a newer one. */
  recordLateSamples(cellId: string, epoch: number, samples: Sample[], clockAheadMs: number): void {
    const cell = this.#findCurrent(cellId, epoch)
    if (cell?.announce !== undefined) this.#parts.onLateSamples?.(cell, samples, clockAheadMs)
  }

  /** Takes a cell out of routing for new requests, or back in; running ones end by themselves. */
  drain(cellId: string, drained: boolean): void {
    if (drained) this.#drained.add(cellId)
    else this.#drained.delete(cellId)
    const cell = this.#cells.get(cellId)
    if (cell === undefined || cell.drained === drained) return
    cell.drained = drained
    this.#settle(cell)
  }

  linkUp(link: CellLink): void {
    const cell = this.#cells.get(link.cellId)
    if (cell === undefined) {
      link.close()
      return
    }
    const old = cell.link
    cell.link = link
    cell.isLinkLate = false
    this.#route(cell)
    old?.close()
  }

  /** Takes a cell that is late with the answer to a ping out of routing; its answers go on. */
  linkLate(link: CellLink, isLate: boolean): void {
    const cell = this.#cells.get(link.cellId)
    if (cell?.link !== link) return
    cell.isLinkLate = isLate
    this.#route(cell)
  }

  linkDown(link: CellLink): void {
    const cell = this.#cells.get(link.cellId)
    if (cell?.link !== link) return
    cell.link = undefined
    this.#route(cell)
  }

  /** Applies the silence limits; call it a few times a second. */
  sweep(): void {
    const now = this.#parts.nowMs()
    const stalledMs = this.#standstill.measure(now)
    for (const cell of this.#cells.values()) {
      forgive(cell, stalledMs, now)
      if (isPresent(cell.presence) || cell.presence === 'suspect') this.#settle(cell)
    }
  }

  pick(...request: Parameters<Router['pick']>): ReturnType<Router['pick']> {
    return this.#router.pick(...request)
  }

  cell(cellId: string): Cell | undefined {
    return this.#cells.get(cellId)
  }

  cells(): Iterable<Cell> {
    return this.#cells.values()
  }

  /** Returns whether at least one routable cell serves the model or can load it. */
  serves(model: string): boolean {
    return this.#router.count(model) > 0
  }

  /** Round trips of the links of routable cells, milliseconds. */
  roundTripsMs(): number[] {
    return roundTrips(this.#cells.values())
  }

  #route(cell: Cell): void {
    this.#router.update(cell.id, resolveEngines(cell))
    this.#parts.onRoutingChange?.(cell)
  }

  /** Derives the presence again; routing follows before listeners hear of it. */
  #settle(cell: Cell, hasNewReports = false): void {
    const { limits, nowMs, onPresenceChange } = this.#parts
    const from = cell.presence
    const { declared, drained } = cell
    const failing = engineReports(cell).some(({ state, refused }) => state === 'failed' && !refused)
    const saysStop = (cell.announce?.capability ?? FIRST_CAPABILITY) >= NEEDS.stopped
    const signs = { declared, drained, failing, saysStop, silentMs: nowMs() - cell.seenAtMs }
    cell.presence = presenceOf(signs, limits)
    if (hasNewReports) countOthers(cell)
    if (hasNewReports || cell.presence !== from) this.#route(cell)
    if (cell.presence !== from) onPresenceChange(cell, from)
  }

  /** The cell, unless it is not enrolled or the message is from before its last start. */
  #findCurrent(cellId: string, epoch: number): Cell | undefined {
    const cell = this.#cells.get(cellId)
    return cell === undefined || epoch < cell.epoch ? undefined : cell
  }

  #noteStale(cellId: string, epoch: number): void {
    const cell = this.#cells.get(cellId)
    if (cell === undefined) return
    cell.staleEpoch = epoch
    this.#parts.onStaleBirth?.(cell)
  }

  /** The cell if its birth was heard; otherwise its birth is requested again. */
  #findAnnounced(cellId: string, epoch: number): Cell | undefined {
    const cell = this.#findCurrent(cellId, epoch)
    if (cell?.announce !== undefined) return cell
    if (cell !== undefined) this.#parts.onUnannounced?.(cellId)
    return undefined
  }
}

/** The epoch grows by one per start; a larger step would lock the cell out for good. */
const MAX_EPOCH_STEP = 1_000_000

const requireStep = (before: number, epoch: number): void => {
  if (epoch - before > MAX_EPOCH_STEP)
    throw new ShoalError('invalid_request', `epoch ${epoch} cannot follow ${before}`)
}

const renewLease = (cell: Cell, now: number): void => {
  cell.seenAtMs = now
  cell.forgiven = false
}

/** Forgives one standstill per silence: however often we stall, a silent cell is found out. */
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
