import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { nextTurn, type Runtime, sleep } from '../../../shared/runtime.ts'
import type { DeviceSeat, EstoppedDevice } from '../../../shared/wire/estop.ts'
import type { Cell } from '../../fleet/cells/cell.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Devices } from '../inventory/devices.ts'
import type { Stop } from './estop.table.ts'
import { nameTarget } from './names.ts'
import type { EstopReports } from './reports.ts'
import { canStop, type EstopSender, isConnected, toStoppedCell } from './sender.ts'
import { concernsCell, IN_FORCE, type StoppedCell } from './stop.ts'
import type { Stops } from './stops.ts'
import { findJoined, type StopTarget, widenTarget } from './widen.ts'
import type { StopWriter } from './writer.ts'

interface EstopsParts {
  stops: Stops
  reports: EstopReports
  sender: EstopSender
  writer: StopWriter
  fleet: Pick<Fleet, 'cell' | 'cells'>
  /** The devices of the store: also those of cells that another coordinator reaches. */
  devices: Pick<Devices, 'get'>
  /** Unix milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids' | 'setTimeout' | 'setImmediate'>
  logger: Pick<Logger, 'error' | 'warn'>
}

/** How far a stop has reached; only of this coordinator's connections. */
export interface StopReach {
  stop: Stop
  /** False while the stop is in force and not in the store. */
  isStored: boolean
  /** Cells that must latch it, as far as they are known. */
  asked: number
  confirmed: number
  /** Cells that have not confirmed it. */
  missing: { cellId: string; isConnected: boolean; isSupported: boolean }[]
}

/** Longest time that an answer waits for the cells and the store, in milliseconds. */
const ANSWER_MS = 1000

const waitAtMost = async (
  runtime: Pick<Runtime, 'setTimeout'>,
  ms: number,
  work: Promise<unknown>,
): Promise<void> => {
  const over = new AbortController()
  const late = sleep(runtime, ms, { signal: over.signal }).catch(() => {})
  await Promise.race([work, late]).finally(() => over.abort())
}

/** The e-stops of the fleet: engaging waits for nothing, releasing for the store. */
export class Estops {
  readonly #parts: EstopsParts
  /** Authors of stops that are not stored yet. */
  readonly #authors = new Map<string, Actor>()

  constructor(parts: EstopsParts) {
    this.#parts = parts
  }

  /**
   * Engages a stop: it is in force and on its way to the cells when this returns its promise. That
   * resolves when every connected cell has confirmed it and it is stored, or after a second.
   */
  async engage(wanted: StopTarget, reason: string, by: Actor): Promise<StopReach> {
    const { stops, now, runtime } = this.#parts
    const startedAt = now()
    const stop = this.#findOrCreate(wanted, reason, by)
    const sent = this.#sendConfirmed(stop, () => this.#noteSent(stop, startedAt))
    this.#noteEngaged(stop, by)
    // the documents leave in this turn, and the store takes its time after them
    const stored = stops.isStored(stop.id)
      ? undefined
      : nextTurn(runtime).then(() => this.#store(stop))
    await waitAtMost(this.#parts.runtime, ANSWER_MS, Promise.all([sent, stored]))
    return this.measureReach(stop)
  }

  /**
   * Releases one stop, and waits a second at most for the cells to confirm it. Throws `not_found`,
   * `conflict`, and `store_unavailable`.
   */
  async release(id: string, reason: string, by: Actor): Promise<StopReach> {
    const { stops, writer, now } = this.#parts
    if (!stops.isStored(id))
      throw new ShoalError('store_unavailable', `e-stop ${id} is not stored yet; try again`)
    const release = { releasedAt: now(), releasedBy: by.actor, releaseReason: reason }
    const stop = await writer.release(id, release, by)
    await stops.refresh()
    await this.#sendConfirmed(stop)
    return this.measureReach(stop)
  }

  /** Newest stops in force, each with its reach by the reports of all coordinators. */
  async list(limit: number): Promise<{ total: number; newest: StopReach[] }> {
    const { stops, reports } = this.#parts
    await reports.load()
    const inForce = stops.listInForce()
    const newest = inForce.slice(-limit).reverse()
    return { total: inForce.length, newest: newest.map(stop => this.measureReach(stop)) }
  }

  /** Returns a stop in force that holds the device; undefined while none does. */
  findCovering(seat: DeviceSeat): Stop | undefined {
    return this.#parts.stops.findCovering(seat)
  }

  /** Devices that are not known to be at rest although a stop covers them. */
  listFailed(): { cell_id: string; device_id: string; reason: string }[] {
    const { reports } = this.#parts
    return reports
      .list()
      .flatMap(({ cellId, failed }) => failed.map(one => ({ cell_id: cellId, ...one })))
  }

  /** Devices that e-stops hold, with what was asked and observed, of the cells that report here. */
  listHeld(): (EstoppedDevice & { cell_id: string })[] {
    const { reports } = this.#parts
    return reports
      .list()
      .flatMap(({ cellId, devices }) => devices.map(one => ({ ...one, cell_id: cellId })))
  }

  /** Stores what the store has refused before, and sends what cells have not confirmed. */
  async sweep(): Promise<void> {
    const { stops, sender } = this.#parts
    await sender.sendMissing()
    await Promise.all(stops.listUnstored().map(stop => this.#store(stop)))
  }

  measureReach(stop: Stop): StopReach {
    const { stops, reports, fleet } = this.#parts
    const cells = [...fleet.cells()].filter(cell => concernsCell(stop, this.#describeCell(cell)))
    const isInForce = stop.releasedAt === undefined
    const missing = cells
      .filter(({ id }) => reports.find(id)?.latched.has(stop.id) !== isInForce)
      .map(cell => ({
        cellId: cell.id,
        isConnected: isConnected(cell),
        isSupported: cell.announce === undefined || canStop(cell),
      }))
    const [asked, isStored] = [cells.length, stops.isStored(stop.id)]
    return { stop, isStored, asked, confirmed: asked - missing.length, missing }
  }

  #findOrCreate(wanted: StopTarget, reason: string, by: Actor): Stop {
    const { stops, now, runtime } = this.#parts
    const inForce = stops.listInForce()
    const target = widenTarget(inForce, wanted, this.#listCellsOf(wanted))
    const joined = findJoined(inForce, target)
    if (joined !== undefined) return joined
    const at = now()
    const stop: Stop = {
      id: runtime.ids.create('est', at),
      ...target,
      cellId: undefined,
      isLocal: false,
      engagedAt: at,
      engagedBy: by.actor,
      reason,
      ...IN_FORCE,
    }
    this.#authors.set(stop.id, by)
    stops.addUnstored(stop)
    return stop
  }

  /** Cells that announce a device: the stop of any of them alone would cover less than the device. */
  #listCellsOf({ scope, target }: StopTarget): StoppedCell[] {
    if (scope !== 'device' || target === undefined) return []
    return [...this.#parts.fleet.cells()]
      .map(cell => this.#describeCell(cell))
      .filter(({ hasDevice }) => hasDevice(target))
  }

  /** A cell with the devices that it announces here, and those that the store has for it. */
  #describeCell(cell: Cell): StoppedCell {
    const { id, hasDevice } = toStoppedCell(cell)
    const isStored = (deviceId: string): boolean => {
      const { cellId, alsoOn = [] } = this.#parts.devices.get(deviceId) ?? {}
      return cellId === id || alsoOn.includes(id)
    }
    return { id, hasDevice: deviceId => hasDevice(deviceId) || isStored(deviceId) }
  }

  async #store(stop: Stop): Promise<void> {
    const { stops, writer, logger } = this.#parts
    try {
      await writer.engage(stop, this.#authors.get(stop.id) ?? { actor: stop.engagedBy })
      this.#authors.delete(stop.id)
      await stops.markStored(stop.id)
    } catch (error) {
      logger.error({ err: error, estop: stop.id }, 'e-stop in force, but not stored; trying again')
    }
  }

  #noteEngaged(stop: Stop, by: Actor): void {
    const { fleet, logger } = this.#parts
    const { id: estop, scope, target } = stop
    const name = nameTarget(stop, fleet.cells())
    logger.warn({ estop, scope, target, name, by }, 'e-stop engaged')
  }

  #noteSent({ id }: Stop, startedAt: number): void {
    const tookMs = this.#parts.now() - startedAt
    this.#parts.logger.warn({ estop: id, tookMs }, 'e-stop sent to the connected cells')
  }

  /**
   * Sends the stop, or its release, in this turn. Resolves when the connected cells confirmed it, or
   * after a second.
   */
  async #sendConfirmed(stop: Stop, onSent = (): void => {}): Promise<void> {
    const over = new AbortController()
    const confirmed = this.#waitConfirmed(stop, over.signal)
    const sent = this.#parts.sender.sendStop(stop).then(onSent)
    await waitAtMost(this.#parts.runtime, ANSWER_MS, Promise.all([sent, confirmed])).finally(() =>
      over.abort(),
    )
  }

  /** Resolves when every connected cell that the stop concerns has applied it, or its release. */
  async #waitConfirmed(stop: Stop, signal: AbortSignal): Promise<void> {
    const { sender, reports } = this.#parts
    const waiting = new Set(
      sender
        .listConnected()
        .filter(cell => concernsCell(stop, toStoppedCell(cell)))
        .map(({ id }) => id),
    )
    const { promise, resolve } = Promise.withResolvers<void>()
    const off = reports.received.add(({ report }) => {
      const isInForce = stop.releasedAt === undefined
      if (report.latched.has(stop.id) === isInForce) waiting.delete(report.cellId)
      if (waiting.size === 0) resolve()
    })
    signal.addEventListener('abort', off)
    if (waiting.size > 0) await promise
  }
}
