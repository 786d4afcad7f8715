import type { Logger } from 'pino'
import {
  coversDevice,
  type DeviceSeat,
  type EstopBody,
  type ReleasedStop,
} from '../../shared/wire/estop.ts'
import { decodeLatch, encodeLatch, type KeptStop, type LatchFile } from './latch-file.ts'
import { createLocalStop, type LocalOrder } from './local-stop.ts'
import { DAEMON, StopTable } from './stop-table.ts'

interface EstopLatchParts {
  file: LatchFile
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'error' | 'warn'>
}

/** Changes of a document of the coordinator. */
type StopDocument = Pick<EstopBody, 'version' | 'engaged' | 'released'>

/** Most stops that the machine itself engages; past them the whole cell is stopped by one. */
const MAX_LOCAL = 32

/**
 * E-stops of this cell. A stop is in force from the call that engages it, which the listeners hear
 * before it returns; it is latched once the returned promise has resolved, because it is on the disk
 * then. Only a release that names it ends it.
 */
export class EstopLatch {
  readonly #parts: EstopLatchParts
  readonly #table: StopTable
  readonly #listeners = new Set<() => void>()
  #last: Promise<void> = Promise.resolve()
  #queued: Promise<void> | undefined
  #isSaved = true

  /** Opens the latch. A damaged file counts as an e-stop of the whole cell. */
  static async open(parts: EstopLatchParts): Promise<EstopLatch> {
    const latch = new EstopLatch(parts)
    const text = await parts.file.read().catch((error: Error) => error)
    const state = typeof text === 'string' ? decodeLatch(text) : undefined
    if (state !== undefined) latch.#table.load(state)
    else if (text !== undefined) await latch.#replaceDamaged()
    return latch
  }

  private constructor(parts: EstopLatchParts) {
    this.#parts = parts
    this.#table = new StopTable(parts.now)
  }

  /** Version of the newest document that was applied; 0 before the first. */
  get version(): number {
    return this.#table.version
  }

  /** False while a change is not on the disk. */
  get isSaved(): boolean {
    return this.#isSaved
  }

  list(): KeptStop[] {
    return this.#table.list()
  }

  listReleased(): ReleasedStop[] {
    return this.#table.listReleased()
  }

  /** Returns a stop that covers the device; undefined while none does. */
  findCovering(seat: DeviceSeat): KeptStop | undefined {
    return this.list().find(stop => coversDevice(stop, seat))
  }

  /** Calls the listener synchronously whenever a stop was engaged. Returns how to end that. */
  onEngage(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Engages a stop of this machine. Resolves when it is latched; rejects when the disk fails. */
  async engage(order: LocalOrder): Promise<KeptStop> {
    const stop = this.#findJoined(order) ?? createLocalStop(order, this.#parts.now())
    this.#add([stop])
    await this.#save()
    return stop
  }

  /**
   * Applies a genuine document: its stops are engaged, and those that it names as released end. One
   * that is older than the newest changes nothing. Resolves when the result is on the disk.
   */
  async apply({ version, engaged, released }: StopDocument): Promise<void> {
    const table = this.#table
    if (version >= table.version) {
      for (const { estop_id } of released) table.end(estop_id)
      const added = engaged.filter(stop => table.isNew(stop))
      if (added.length + released.length > 0 || version > table.version) this.#isSaved = false
      table.version = version
      this.#add(added.map(stop => ({ ...stop, is_local: false })))
    }
    if (!this.#isSaved) await this.#save()
  }

  /** Releases a stop on the machine. Resolves with false when no stop has this id. */
  async release(release: ReleasedStop): Promise<boolean> {
    if (this.#table.get(release.estop_id) === undefined) return false
    this.#table.release(release)
    await this.#save()
    return true
  }

  async #replaceDamaged(): Promise<void> {
    const reason = 'the e-stop latch could not be read, so stops may have been forgotten'
    this.#parts.logger.error({ reason }, 'e-stop engaged')
    await this.engage({ reason, by: DAEMON }).catch(() => {})
  }

  #add(stops: readonly KeptStop[]): void {
    for (const stop of stops) this.#table.add(stop)
    if (stops.length > 0) for (const listener of this.#listeners) listener()
  }

  /**
   * Finds the order that another one joins past the limit: an equal stop, or one of the whole cell.
   */
  #findJoined({ deviceId }: LocalOrder): KeptStop | undefined {
    const locals = this.list().filter(({ is_local }) => is_local)
    if (locals.length < MAX_LOCAL) return undefined
    return (
      locals.findLast(({ target }) => target === (deviceId ?? null)) ??
      locals.find(({ scope }) => scope === 'all') ??
      this.#table.addWide(`more than ${MAX_LOCAL} e-stops were engaged on the machine`)
    )
  }

  /** Writes the newest state, after the write under way; calls that wait share one write. */
  #save(): Promise<void> {
    this.#isSaved = false
    this.#queued ??= this.#last.then(() => this.#write())
    this.#last = this.#queued.catch(() => {})
    return this.#queued
  }

  async #write(): Promise<void> {
    this.#queued = undefined
    try {
      await this.#parts.file.replace(encodeLatch(this.#table.toState()))
      this.#isSaved = this.#queued === undefined
    } catch (error) {
      this.#parts.logger.error({ reason: (error as Error).message }, 'e-stop latch not written')
      throw error
    }
  }
}
