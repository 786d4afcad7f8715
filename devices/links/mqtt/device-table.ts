import type { DeviceState, PropertyValue } from '../../../shared/wire/device.ts'
import { toPropertyValue } from '../../declared/values.ts'
import { createDeviceId } from '../../device-id.ts'
import { isPlainTopic } from '../../mqtt/topics.ts'
import type { AvailabilityMode, DeviceNews, FoundDevice, Payload } from './found-device.ts'
import { type TopicChange, TopicReaders } from './topic-readers.ts'

const MAX_TOPICS_PER_DEVICE = 16

/** A device of the table, with what it said. */
export interface TableEntry {
  deviceId: string
  found: FoundDevice
  /** Availability by the topic that reported it, the newest last. */
  availability: Map<string, boolean>
  /** True once the device itself was heard on this connection. */
  isHeard: boolean
  /** Properties whose values were read from live messages on this connection. */
  live: ReadonlySet<string>
  /** True once a value was read on this connection, be it one that the broker had retained. */
  isRead: boolean
  /** Time of the newest command that may have changed it, in unix milliseconds; 0 before the first. */
  orderedAt: number
  state: DeviceState
}

interface DeviceTableParts {
  maxDevices: number
  /** Unix milliseconds. */
  now: () => number
  onTopics: (change: TopicChange) => void
  /** Listener for a known device whose topics have changed: messages there may have been missed. */
  onMoved: (entry: TableEntry) => void
  /** Runs once, when a device is left out because the table is full. */
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
    const changes: TopicChange[] = []
    const moved: TableEntry[] = []
    const ids = new Set(devices.flatMap(found => this.#put(found, changes, moved) ?? []))
    const before = this.#origins.get(origin) ?? []
    if (ids.size > 0) this.#origins.set(origin, ids)
    else this.#origins.delete(origin)
    for (const id of before)
      if (!ids.has(id) && !this.#isAnnounced(id)) changes.push(this.#remove(id))
    this.#parts.onTopics(sumChanges(changes))
    for (const entry of moved) this.#parts.onMoved(entry)
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

  /**
   * Forgets the presence of all devices: after a loss of the connection none is known to be
   * available.
   */
  forgetPresence(): void {
    for (const entry of this.#entries.values()) {
      entry.availability.clear()
      entry.isHeard = false
      entry.isRead = false
      entry.live = new Set()
    }
  }

  /** Returns the id; undefined when the table is full or the device is not acceptable. */
  #put(found: FoundDevice, changes: TopicChange[], moved: TableEntry[]): string | undefined {
    const deviceId = createDeviceId(found.identity)
    const known = this.#entries.get(deviceId)
    if (!isAcceptable(found)) return undefined
    if (known === undefined && this.#entries.size >= this.#parts.maxDevices) {
      if (!this.#isFull) this.#parts.onFull()
      this.#isFull = true
      return undefined
    }
    const state = { device_id: deviceId, seen_at: null, readings: {} }
    const unheard = {
      availability: new Map(),
      isHeard: false,
      isRead: false,
      live: new Set<string>(),
    }
    const fresh = { deviceId, found, state, orderedAt: 0, ...unheard }
    const entry = known === undefined ? fresh : { ...known, found }
    this.#entries.set(deviceId, entry)
    changes.push(this.#readers.replace(deviceId, known?.found, found))
    if (known !== undefined && !hasTopicsOf(known.found, found)) moved.push(entry)
    return deviceId
  }

  #remove(deviceId: string): TopicChange {
    const entry = this.#entries.get(deviceId)
    this.#entries.delete(deviceId)
    return this.#readers.replace(deviceId, entry?.found, undefined)
  }

  #isAnnounced(deviceId: string): boolean {
    return [...this.#origins.values()].some(ids => ids.has(deviceId))
  }

  #note(entry: TableEntry, topic: string, news: DeviceNews, isRetained: boolean): void {
    const { available, values = {}, isFromBridge = false } = news
    // a bridge that is online proves nothing about the devices behind it
    if (available !== undefined) entry.availability.delete(topic)
    if (available === false || (available && !isFromBridge))
      entry.availability.set(topic, available)
    const at = isRetained ? 0 : this.#parts.now()
    const read = readValues(entry, values)
    if (Object.keys(read).length > 0) entry.isRead = true
    const readings = { ...entry.state.readings, ...toReadings(read, at, entry) }
    if (!isRetained) entry.live = new Set([...entry.live, ...Object.keys(read)])
    const isSign = !isRetained && !isFromBridge && available !== false
    if (isSign) entry.isHeard = true
    entry.state = { ...entry.state, readings, ...(isSign && { seen_at: at }) }
  }
}

/**
 * Reason why a device cannot be reached; undefined for one that is available. Where nothing reports
 * the availability, a device of which a value was read counts as available: a quiet one sends only
 * what has changed.
 */
export const explainAbsence = ({
  found,
  availability,
  isHeard,
  isRead,
}: TableEntry): string | undefined => {
  const reported = [...availability.values()]
  if (isOffline(reported, found.availabilityMode)) return 'the device is offline'
  const isKnown = isHeard || isRead || reported.length > 0
  return isKnown ? undefined : 'the device has not reported yet'
}

const isOffline = (reported: readonly boolean[], mode: AvailabilityMode = 'all'): boolean => {
  if (mode === 'any') return reported.length > 0 && !reported.includes(true)
  return mode === 'latest' ? reported.at(-1) === false : reported.includes(false)
}

/** Values of a message that the device can have. */
const readValues = (
  { found }: TableEntry,
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, PropertyValue>> => {
  const { properties } = found.profile
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, given]) => {
      const facts = Object.hasOwn(properties, name) ? properties[name] : undefined
      const value = facts && toPropertyValue(facts, given)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/**
 * Readings with their time. The age of a retained message is unknown, so that `at` is 0 for it and its
 * readings count as stale. It says nothing about a value that is known already, and is older than one
 * that was read live on this connection: a further subscription brings it late.
 */
const toReadings = (
  values: Readonly<Record<string, PropertyValue>>,
  at: number,
  { live, state: { readings } }: TableEntry,
): DeviceState['readings'] =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([name, value]) => at > 0 || !(live.has(name) || readings[name]?.value === value))
      .map(([name, value]) => [name, { value, at }]),
  )

/** Change of several devices at once: a topic that one leaves and another takes stays subscribed. */
const sumChanges = (changes: readonly TopicChange[]): TopicChange => {
  const added = new Set(changes.flatMap(change => change.added))
  const removed = new Set(changes.flatMap(change => change.removed))
  return {
    added: [...added].filter(topic => !removed.has(topic)),
    removed: [...removed].filter(topic => !added.has(topic)),
  }
}

/** True when every topic of a device is one that it had before. */
const hasTopicsOf = (before: FoundDevice, after: FoundDevice): boolean =>
  [...after.topics.keys()].every(topic => before.topics.has(topic))

/** True for a device whose topics are plain, and not too many. */
const isAcceptable = ({ topics, commands, question }: FoundDevice): boolean =>
  topics.size <= MAX_TOPICS_PER_DEVICE &&
  [...topics.keys()].every(topic => isPlainTopic(topic)) &&
  Object.values(commands).every(({ topic }) => isPlainTopic(topic)) &&
  (question === undefined || isPlainTopic(question.topic))
