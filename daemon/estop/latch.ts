import type { Logger } from 'pino'
import {
  coversDevice,
  type DeviceSeat,
  type EstopBody,
  MAX_STOPS,
  type ReleasedStop,
} from '../../shared/wire/estop.ts'
import { decodeLatch, encodeLatch, type KeptStop, type LatchFile } from './latch-file.ts'
import { createLocalStop, type LocalOrder } from './local-stop.ts'

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
/** Author of stops that the daemon engages itself. */
const DAEMON = 'shoald'

/**
 * E-stops of this cell. A stop is in force from the call that engages it, which the listeners hear
 * before it returns; it is latched once the returned promise has resolved, because it is on the disk
 * then. Only a release that names it ends it.
 */
export class EstopLatch {
  readonly #parts: EstopLatchParts
  readonly #stops = new Map<string, KeptStop>()
  readonly #released = new Map<string, ReleasedStop>()
  readonly #listeners = new Set<() => void>()
  #version = 0
  #last: Promise<void> = Promise.resolve()
  #queued: Promise<void> | undefined
  #isSaved = true

  /** Opens the latch. A damaged file counts as an e-stop of the whole cell. */
  static async open(parts: EstopLatchParts): Promise<EstopLatch> {
    const latch = new EstopLatch(parts)
    const text = await parts.file.read().catch((error: Error) => error)
    const state = typeof text === 'string' ? decodeLatch(text) : undefined
    if (state !== undefined) latch.#load(state)
    else if (text !== undefined) await latch.#replaceDamaged()
    return latch
  }

  private constructor(parts: EstopLatchParts) {
    this.#parts = parts
  }

  /** Version of the newest document that was applied; 0 before the first. */
  get version(): number {
    return this.#version
  }

  /** False while a change is not on the disk. */
  get isSaved(): boolean {
    return this.#isSaved
  }

  list(): KeptStop[] {
    return [...this.#stops.values()]
  }

  listReleased(): ReleasedStop[] {
    return [...this.#released.values()]
  }

  /** Returns a stop that covers the device; undefined while none does. */
  findCovering(seat: DeviceSeat): KeptStop | undefined {
    for (const stop of this.#stops.values()) if (coversDevice(stop, seat)) return stop
    return undefined
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
    if (version >= this.#version) {
      const ended = new Set(released.map(({ estop_id }) => estop_id))
      // a coordinator that has not heard of a local release yet still names the stop
      const known = [this.#stops, this.#released, ended]
      const isNew = (id: string): boolean => !known.some(one => one.has(id))
      const added = engaged.filter(({ estop_id }) => isNew(estop_id))
      if (added.length + ended.size > 0 || version > this.#version) this.#isSaved = false
      this.#version = version
      for (const id of ended) this.#forget(id)
      this.#add(added.map(stop => ({ ...stop, is_local: false })))
    }
    if (!this.#isSaved) await this.#save()
  }

  /** Releases a stop on the machine. Resolves with false when no stop has this id. */
  async release(stop: ReleasedStop): Promise<boolean> {
    const { is_local } = this.#stops.get(stop.estop_id) ?? {}
    if (is_local === undefined) return false
    this.#stops.delete(stop.estop_id)
    if (is_local) this.#keepReleased(stop)
    await this.#save()
    return true
  }

  #load({ version, stops, released }: ReturnType<typeof decodeLatch> & object): void {
    this.#version = version
    for (const stop of stops) this.#stops.set(stop.estop_id, stop)
    for (const one of released) this.#released.set(one.estop_id, one)
  }

  async #replaceDamaged(): Promise<void> {
    const reason = 'the e-stop latch could not be read, so stops may have been forgotten'
    this.#parts.logger.error({ reason }, 'e-stop engaged')
    await this.engage({ reason, by: DAEMON }).catch(() => {})
  }

  #forget(id: string): void {
    this.#stops.delete(id)
    this.#released.delete(id)
  }

  /** Keeps the newest releases; an older one then shows without its reason at the coordinator. */
  #keepReleased(stop: ReleasedStop): void {
    const [oldest] = this.#released.keys()
    if (this.#released.size >= MAX_STOPS && oldest !== undefined) this.#released.delete(oldest)
    this.#released.set(stop.estop_id, stop)
  }

  #add(stops: readonly KeptStop[]): void {
    for (const stop of stops)
      if (this.#stops.size < MAX_STOPS || this.#stops.has(stop.estop_id))
        this.#stops.set(stop.estop_id, stop)
      else this.#replaceOldest(stop)
    if (stops.length > 0) for (const listener of this.#listeners) listener()
  }

  /** Adds a stop to a full latch: a stop of the whole cell covers what the removed ones covered. */
  #replaceOldest(stop: KeptStop): void {
    const narrow = this.list().filter(({ scope }) => scope !== 'all')
    const isWide = narrow.length < this.#stops.size
    for (const { estop_id } of narrow.slice(0, isWide ? 1 : 2)) this.#stops.delete(estop_id)
    if (narrow.length > 0) this.#stops.set(stop.estop_id, stop)
    if (!isWide) this.#engageAll(`more than ${MAX_STOPS} e-stops were engaged on this cell`)
  }

  #engageAll(reason: string): KeptStop {
    const stop = createLocalStop({ reason, by: DAEMON }, this.#parts.now())
    this.#stops.set(stop.estop_id, stop)
    return stop
  }

  /** Past the limit, an order joins an equal stop, or one of the whole cell. */
  #findJoined({ deviceId }: LocalOrder): KeptStop | undefined {
    const locals = this.list().filter(({ is_local }) => is_local)
    if (locals.length < MAX_LOCAL) return undefined
    return (
      locals.findLast(({ target }) => target === (deviceId ?? null)) ??
      locals.find(({ scope }) => scope === 'all') ??
      this.#engageAll(`more than ${MAX_LOCAL} e-stops were engaged on the machine`)
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
    const state = { version: this.#version, stops: this.list(), released: this.listReleased() }
    try {
      await this.#parts.file.replace(encodeLatch(state))
      this.#isSaved = this.#queued === undefined
    } catch (error) {
      this.#parts.logger.error({ reason: (error as Error).message }, 'e-stop latch not written')
      throw error
    }
  }
}
