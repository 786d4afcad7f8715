import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import type { ExecuteContext, LinkContext, LinkedDevice } from '../../device-link.ts'
import type { MqttConnection, MqttMessage } from '../../mqtt/connection.ts'
import {
  createLinkedBroker,
  type LinkedBroker,
  type MqttDeviceLink,
} from '../../mqtt/linked-broker.ts'
import { matchesFilter } from '../../mqtt/topics.ts'
import type { Json } from '../../profile.ts'
import type { MqttLinkConfig } from './config.ts'
import { Confirmations } from './confirmations.ts'
import { DeviceTable, type TableEntry } from './device-table.ts'
import { type FoundDevice, type Payload, parsePayload, type Source } from './found-device.ts'
import { createGenericDevice } from './generic.ts'
import { listSources } from './list-sources.ts'
import { type MqttOperation, parseOperation } from './operation.ts'
import { planCommand } from './plan-command.ts'

/** Longest time until a stop must be confirmed. */
const STOP_MS = 450
/** Origin of the devices of the configuration; no topic has this name. */
const CONFIGURED = ''

/** Connection to one broker and the devices behind it. */
export class MqttLink implements MqttDeviceLink {
  readonly kind = 'mqtt'
  readonly broker: LinkedBroker
  readonly #config: MqttLinkConfig
  readonly #context: LinkContext
  readonly #connection: MqttConnection
  readonly #sources: readonly Source[]
  readonly #table: DeviceTable
  /** Devices with a verb that runs: they can be stopped although they are withdrawn. */
  readonly #running = new Set<TableEntry>()
  readonly #confirmations = new Confirmations()
  readonly #listeners = new Set<() => void>()
  #signal: AbortSignal | undefined

  constructor(config: MqttLinkConfig, context: LinkContext) {
    this.#config = config
    this.#context = context
    this.broker = createLinkedBroker(config, context)
    this.#connection = this.broker.connection
    this.#sources = listSources(config, context.cellId)
    this.#table = this.#createTable()
    const { devices } = config
    this.#table.replace(
      CONFIGURED,
      devices.map(each => createGenericDevice(context.cellId, each)),
    )
  }

  start(signal: AbortSignal): void {
    this.#signal = signal
    this.#connection.subscribe(this.#sources.flatMap(({ filters }) => filters))
    this.#connection.onMessage(message => this.#handleMessage(message))
    this.#connection.onStateChange(() => {
      if (this.#connection.reason !== undefined) this.#table.forgetPresence()
      this.#notify()
    })
    this.#connection.start(signal)
  }

  list(): readonly LinkedDevice[] {
    return this.#table.list().map(entry => this.#describe(entry))
  }

  readState(deviceId: string): DeviceState | undefined {
    return this.#table.get(deviceId)?.state
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async execute(
    deviceId: string,
    operations: readonly Json[],
    { signal }: ExecuteContext,
  ): Promise<Json> {
    const entry = { ...this.#require(deviceId) }
    const own = operations.map(operation => parseOperation(operation, entry.found))
    this.#running.add(entry)
    try {
      for (const operation of own) await this.#send(deviceId, operation, signal)
    } catch (error) {
      if (signal.aborted) await this.stop(deviceId, entry.found.profile.atEstop).catch(() => {})
      throw error
    } finally {
      this.#running.delete(entry)
    }
    return { confirmed: own.every(({ confirm }) => confirm !== undefined) }
  }

  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<void> {
    const { found } = this.#require(deviceId)
    const { stopVerb: verb = 'off' } = found
    if (behaviour === 'none' || found.commands[verb] === undefined) return
    const operation = planCommand(verb, {}, { options: this.#optionsOf(found) })
    const signal = AbortSignal.timeout(STOP_MS)
    await this.#send(deviceId, parseOperation(operation, found), signal)
  }

  #createTable(): DeviceTable {
    const { max_devices, name } = this.#config
    const { logger, now } = this.#context
    return new DeviceTable({
      maxDevices: max_devices,
      now,
      onTopics: ({ added, removed }) => {
        this.#connection.unsubscribe(removed)
        this.#connection.subscribe(added)
      },
      onFull: () =>
        logger.warn({ broker: name, max_devices }, 'devices of an MQTT broker are left out'),
    })
  }

  async #send(deviceId: string, operation: MqttOperation, signal: AbortSignal): Promise<void> {
    const { topic, payload } = operation
    const confirm = this.#isReported(deviceId, operation) ? undefined : operation.confirm
    const limit = this.#signal ? AbortSignal.any([signal, this.#signal]) : signal
    const since = this.#context.now()
    try {
      // the device may answer before the broker acknowledges
      const confirmed =
        confirm && this.#confirmations.wait(deviceId, confirm, { since, signal: limit })
      confirmed?.catch(() => {})
      await this.#connection.publish(topic, payload, limit)
      await confirmed
    } catch (cause) {
      if (cause instanceof ShoalError && !limit.aborted) throw cause
      const message = 'the device did not confirm the command in time'
      throw new ShoalError('request_timeout', message, { cause })
    }
  }

  /** True when the device has reported the confirming value already: it may not report it again. */
  #isReported(deviceId: string, { confirm }: MqttOperation): boolean {
    const { found, state, isHeard } = this.#require(deviceId)
    const reading = confirm && state.readings[confirm.property]
    const staleAfterMs = confirm && found.profile.properties[confirm.property]?.stale_after_ms
    if (reading === undefined || staleAfterMs === undefined || !isHeard) return false
    return reading.value === confirm?.value && this.#context.now() - reading.at < staleAfterMs
  }

  #handleMessage({ topic, payload, isRetained }: MqttMessage): void {
    const parsed = parsePayload(payload)
    const found = this.#findDevices(topic, parsed)
    if (found !== undefined) this.#table.replace(topic, found)
    const changed = this.#table.accept(topic, parsed, isRetained)
    for (const { state } of changed) this.#confirmations.settle(state)
    if (found !== undefined || changed.length > 0) this.#notify()
  }

  /** Devices that an announcement describes; undefined for any other message. */
  #findDevices(topic: string, payload: Payload): FoundDevice[] | undefined {
    const found = this.#sources
      .filter(({ filters }) => filters.some(filter => matchesFilter(filter, topic)))
      .map(source => source.read(topic, payload))
      .filter(devices => devices !== undefined)
    return found.length === 0 ? undefined : found.flat()
  }

  #describe({ deviceId, found, availability, isHeard }: TableEntry): LinkedDevice {
    const { name, profile, envelope, site = this.#config.site } = found
    const heard = [...availability.values()]
    const isOffline = heard.includes(false)
    const reason =
      this.#connection.reason ??
      (isOffline ? 'the device is offline' : undefined) ??
      (isHeard || heard.length > 0 ? undefined : 'the device has given no sign of life yet')
    return {
      deviceId,
      name,
      profile,
      available: reason === undefined,
      writable: true,
      options: this.#optionsOf(found),
      ...(reason !== undefined && { reason }),
      ...(site !== undefined && { site }),
      ...(envelope !== undefined && { envelope }),
    }
  }

  #optionsOf({ commands }: TableEntry['found']): LinkedDevice['options'] {
    return { broker: this.#config.name, commands: commands as unknown as Json }
  }

  #require(deviceId: string): TableEntry {
    const running = [...this.#running].find(one => one.deviceId === deviceId)
    const entry = this.#table.get(deviceId) ?? running
    if (entry !== undefined) return entry
    throw new ShoalError('not_found', `broker ${this.#config.name} has no device ${deviceId}`)
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
