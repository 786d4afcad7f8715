import type { DeviceState } from '../../../shared/wire/device.ts'
import { toPropertyValue } from '../../declared/values.ts'
import { createDeviceId } from '../../device-id.ts'
import { isPlainTopic } from '../../mqtt/topics.ts'
import type { DeviceNews, FoundDevice, Payload } from './found-device.ts'
import { type TopicChange, TopicReaders } from './topic-readers.ts'

const MAX_TOPICS_PER_DEVICE = 16

/** A device of the table, with what it said. */
export interface TableEntry {
  deviceId: string
  found: FoundDevice
  /** Availability by the topic that told it. */
  availability: Map<string, boolean>
  /** True once the device itself was heard on this connection. */
  isHeard: boolean
  state: DeviceState
}

interface DeviceTableParts {
  maxDevices: number
  /** Unix milliseconds. */
  now: () => number
  onTopics: (change: TopicChange) => void
  /** Called once, when a device is left out because the table is full. */
  onFull: () => void
}

/** The devices behind one broker, bounded in number and topics. */
export class DeviceTable {
  readonly #parts: DeviceTableParts
  readonly #entries = new Map<string, TableEntry>()
  readonly #readers = new TopicReaders()
  /** Ids of the devices that an announcement described, by its topic. */
  readonly #origins = new Map<string, ReadonlySet<string>>()
  #isFull = false

  constructor(parts: DeviceTableParts) {
    this.#parts = parts
  }

  list(): readonly TableEntry[] {
    return [...this.#entries.values()]
  }

  get(deviceId: string): TableEntry | undefined {
    return this.#entries.get(deviceId)
  }

  /** Takes over the devices of an announcement, in place of those of the one before. */
  replace(origin: string, devices: readonly FoundDevice[]): void {
    const ids = new Set(devices.flatMap(found => this.#put(found) ?? []))
    const before = this.#origins.get(origin) ?? []
    if (ids.size > 0) this.#origins.set(origin, ids)
    else this.#origins.delete(origin)
    for (const id of before) if (!ids.has(id) && !this.#isAnnounced(id)) this.#remove(id)
  }

  /** Reads a message; returns the devices that it was about. */
  accept(topic: string, payload: Payload, isRetained: boolean): TableEntry[] {
    return this.#readers.list(topic).flatMap(id => {
      const entry = this.#entries.get(id)
      const news = entry?.found.topics.get(topic)?.(payload)
      if (entry === undefined || news === undefined) return []
      this.#note(entry, topic, news, isRetained)
      return [entry]
    })
  }

  /** After a loss of the connection nothing is known to be available. */
  forgetPresence(): void {
    for (const entry of this.#entries.values()) {
      entry.availability.clear()
      entry.isHeard = false
    }
  }

  /** Returns the id; undefined when the table is full or the device is not acceptable. */
  #put(found: FoundDevice): string | undefined {
    const deviceId = createDeviceId(found.identity)
    const known = this.#entries.get(deviceId)
    if (!isAcceptable(found)) return undefined
    if (known === undefined && this.#entries.size >= this.#parts.maxDevices) {
      if (!this.#isFull) this.#parts.onFull()
      this.#isFull = true
      return undefined
    }
    const state = { device_id: deviceId, seen_at: null, readings: {} }
    const fresh = { deviceId, found, availability: new Map(), isHeard: false, state }
    this.#entries.set(deviceId, known === undefined ? fresh : { ...known, found })
    this.#parts.onTopics(this.#readers.replace(deviceId, known?.found, found))
    return deviceId
  }

  #remove(deviceId: string): void {
    const entry = this.#entries.get(deviceId)
    this.#entries.delete(deviceId)
    this.#parts.onTopics(this.#readers.replace(deviceId, entry?.found, undefined))
  }

  #isAnnounced(deviceId: string): boolean {
    return [...this.#origins.values()].some(ids => ids.has(deviceId))
  }

  #note(entry: TableEntry, topic: string, news: DeviceNews, isRetained: boolean): void {
    const { available, values = {}, isFromBridge = false } = news
    // a bridge that is online proves nothing about the devices behind it
    if (isFromBridge && available) entry.availability.delete(topic)
    else if (available !== undefined) entry.availability.set(topic, available)
    const at = isRetained ? 0 : this.#parts.now()
    const readings = { ...entry.state.readings, ...readValues(entry, values, at) }
    const isSign = !isRetained && !isFromBridge && available !== false
    if (isSign) entry.isHeard = true
    entry.state = { ...entry.state, readings, ...(isSign && { seen_at: at }) }
  }
}

/**
 * Readings from the values of a message. The age of a retained message is unknown, so that `at` is 0
 * for it and its readings count as stale; it says nothing about a value that is known already.
 */
const readValues = (
  { found, state }: TableEntry,
  values: Readonly<Record<string, unknown>>,
  at: number,
): DeviceState['readings'] => {
  const { properties } = found.profile
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, given]) => {
      const facts = Object.hasOwn(properties, name) ? properties[name] : undefined
      const value = facts && toPropertyValue(facts, given)
      if (value === undefined || (at === 0 && state.readings[name]?.value === value)) return []
      return [[name, { value, at }]]
    }),
  )
}

/** True for a device whose topics are plain, and not too many. */
const isAcceptable = ({ topics, commands }: FoundDevice): boolean =>
  topics.size <= MAX_TOPICS_PER_DEVICE &&
  [...topics.keys()].every(topic => isPlainTopic(topic)) &&
  Object.values(commands).every(({ topic }) => isPlainTopic(topic))
