import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import { coversDevice, type DeviceSeat } from '../../../shared/wire/estop.ts'
import { type ChangeFollower, followChanges } from '../../kernel/base/follow-changes.ts'
import { Listeners } from '../../kernel/base/listeners.ts'
import { readLastNumber } from '../../kernel/store/sequences.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Stop } from './estop.table.ts'
import { readStops, readStopsById } from './stop-rows.ts'

interface StopsParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  /** Unix milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setTimeout'>
  logger: Pick<Logger, 'warn'>
}

/** Time for which every document names a released stop, also for cells that never confirmed it. */
const RELEASED_MS = 3_600_000
/** Older released stops that cells still report, as a bound of the memory. */
const MAX_OLD = 4096

/**
 * The stops of the fleet in memory: those of the store, and those that this coordinator has engaged
 * and not stored yet. Both are in force.
 */
export class Stops {
  /** Listeners that run after the stops were read again. */
  readonly changes = new Listeners<[]>()
  readonly #parts: StopsParts
  readonly #changes: ChangeFollower
  readonly #unstored = new Map<string, Stop>()
  /** Stops released long ago that a cell reports as latched. */
  readonly #old = new Map<string, Stop>()
  #stored = new Map<string, Stop>()
  #version = 0

  static async open(parts: StopsParts): Promise<Stops> {
    const stops = new Stops(parts)
    await stops.#read()
    return stops
  }

  private constructor(parts: StopsParts) {
    const { store, logger, runtime } = parts
    this.#parts = parts
    this.#changes = followChanges({
      subscribe: listener => store.revisions.onChange('estops', listener),
      read: async () => {
        await this.#read()
        this.changes.notify()
      },
      onFailure: error => logger.warn({ err: error }, 'e-stops could not be read'),
      runtime,
    })
  }

  /** Number of the newest change that was read from the store. */
  get version(): number {
    return this.#version
  }

  find(id: string): Stop | undefined {
    return this.#unstored.get(id) ?? this.#stored.get(id) ?? this.#old.get(id)
  }

  /** True while stops are in force, or were released lately. */
  hasAny(): boolean {
    return this.#stored.size + this.#unstored.size > 0
  }

  /** Stops in force, the oldest first. */
  listInForce(): Stop[] {
    return this.#list().filter(({ releasedAt }) => releasedAt === undefined)
  }

  /** Stops that every document names as released. */
  listReleased(): Stop[] {
    return [...this.#stored.values()].filter(({ releasedAt }) => releasedAt !== undefined)
  }

  listUnstored(): Stop[] {
    return [...this.#unstored.values()]
  }

  isStored(id: string): boolean {
    return !this.#unstored.has(id)
  }

  /** Returns a stop that covers the device; undefined while none does. */
  findCovering(seat: DeviceSeat): Stop | undefined {
    return this.listInForce().find(
      stop =>
        (stop.cellId === undefined || stop.cellId === seat.cellId) && coversDevice(stop, seat),
    )
  }

  /** Puts a stop in force before it is stored. */
  addUnstored(stop: Stop): void {
    this.#unstored.set(stop.id, stop)
  }

  /** Notes that the stop is in the store, and reads that again. */
  async markStored(id: string): Promise<void> {
    const stop = this.#unstored.get(id)
    // in force until it was read, also when that fails
    if (stop !== undefined) this.#stored.set(id, stop)
    this.#unstored.delete(id)
    await this.refresh()
  }

  /** Looks up stops that are not in memory; returns the ids that the store does not know either. */
  async learn(ids: readonly string[]): Promise<string[]> {
    const missing = ids.filter(id => this.find(id) === undefined)
    const found = await readStopsById(this.#parts.store.ledger.read, missing)
    for (const stop of found) this.#old.set(stop.id, stop)
    for (const [oldest] of this.#old) if (this.#old.size > MAX_OLD) this.#old.delete(oldest)
    return missing.filter(id => this.find(id) === undefined)
  }

  /** Reads the stops again. Never rejects. */
  refresh(): Promise<void> {
    return this.#changes.look()
  }

  close(): Promise<void> {
    return this.#changes.close()
  }

  #list(): Stop[] {
    return [...this.#stored.values(), ...this.#unstored.values()]
  }

  async #read(): Promise<void> {
    const { store, now } = this.#parts
    // a row that is newer than the version is only numbered too low, which a cell adds to the others
    const version = await readLastNumber(store.ledger.read, 'estops')
    const stops = await readStops(store.ledger.read, now() - RELEASED_MS)
    this.#version = version
    this.#stored = new Map(stops.map(stop => [stop.id, stop]))
  }
}
