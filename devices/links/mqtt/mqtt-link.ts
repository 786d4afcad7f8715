import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import type { DeviceOutcome, Seen } from '../../../shared/wire/device-outcome.ts'
import { AskedLog } from '../../asked-log.ts'
import { toDeviceFailure } from '../../device-failure.ts'
import type { ExecuteContext, Execution, LinkContext, LinkedDevice } from '../../device-link.ts'
import type { MqttConnection, MqttMessage } from '../../mqtt/connection.ts'
import {
  createLinkedBroker,
  type LinkedBroker,
  type MqttDeviceLink,
} from '../../mqtt/linked-broker.ts'
import { matchesFilter } from '../../mqtt/topics.ts'
import type { DeviceProfile, Json } from '../../profile.ts'
import { RestObserver } from '../../rest-observer.ts'
import type { MqttLinkConfig } from './config.ts'
import { Confirmations, isConfirmedBy } from './confirmations.ts'
import { DeviceTable, explainAbsence, type TableEntry } from './device-table.ts'
import { type FoundDevice, type Payload, parsePayload, type Source } from './found-device.ts'
import { createGenericDevice } from './generic.ts'
import { listSources } from './list-sources.ts'
import { type MqttOperation, parseOperation } from './operation.ts'
import { planCommand } from './plan-command.ts'
import { Questions } from './questions.ts'

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
  readonly #questions: Questions
  readonly #listeners = new Set<() => void>()
  #signal: AbortSignal | undefined

  constructor(config: MqttLinkConfig, context: LinkContext) {
    this.#config = config
    this.#context = context
    this.broker = createLinkedBroker(config, context)
    this.#connection = this.broker.connection
    this.#questions = new Questions(this.#connection)
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
      if (this.#connection.reason !== undefined) this.#forgetPresence()
      this.#askQuiet()
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
  ): Promise<Execution> {
    const entry = { ...this.#require(deviceId) }
    const own = operations.map(operation => parseOperation(operation, entry.found))
    const log = new AskedLog()
    const look = this.#createObserver(entry)
    this.#running.add(entry)
    try {
      for (const operation of own) await this.#ask(deviceId, operation, log, signal)
    } catch (error) {
      if (signal.aborted)
        await this.#askToStop(deviceId, entry.found.profile.atEstop, log).catch(() => {})
      throw toDeviceFailure(error, { asked: log.asked, seen: look() })
    } finally {
      this.#running.delete(entry)
    }
    const confirmed = own.every(({ confirm }) => confirm !== undefined)
    const seen = confirmed ? this.#seeConfirmed(deviceId, own) : look()
    return { asked: log.asked, seen, result: { confirmed } }
  }

  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<DeviceOutcome> {
    const entry = this.#require(deviceId)
    const log = new AskedLog()
    const look = this.#createObserver(entry)
    try {
      const operation = await this.#askToStop(deviceId, behaviour, log)
      const isSeen = operation?.confirm !== undefined
      return { asked: log.asked, seen: isSeen ? this.#seeConfirmed(deviceId, [operation]) : look() }
    } catch (error) {
      throw toDeviceFailure(error, { asked: log.asked, seen: look() })
    }
  }

  /** Returns what was sent; undefined when nothing stops the device. */
  async #askToStop(
    deviceId: string,
    behaviour: EstopBehaviour,
    log: AskedLog,
  ): Promise<MqttOperation | undefined> {
    const { found } = this.#require(deviceId)
    const { stopVerb: verb = 'off' } = found
    if (behaviour === 'none' || found.readOnlyReason !== undefined) return undefined
    const planned = planCommand(verb, {}, { options: this.#optionsOf(found) })
    const operation = parseOperation(planned, found)
    await this.#ask(deviceId, operation, log, AbortSignal.timeout(STOP_MS))
    return operation
  }

  /** The answer is that of the broker; the device answers with the reading that confirms. */
  #ask(
    deviceId: string,
    operation: MqttOperation,
    log: AskedLog,
    signal: AbortSignal,
  ): Promise<string> {
    return log.ask(`${operation.topic} ${operation.payload}`, async () => {
      await this.#send(deviceId, operation, signal)
      return operation.confirm === undefined ? 'published' : 'confirmed'
    })
  }

  /** The readings that have confirmed operations. */
  #seeConfirmed(deviceId: string, operations: readonly MqttOperation[]): Seen {
    const { readings } = this.#require(deviceId).state
    const names = operations.flatMap(({ confirm }) => confirm?.property ?? [])
    const values = names.map(name => [name, readings[name]?.value ?? null])
    const at = Math.max(...names.map(name => readings[name]?.at ?? 0))
    return { state: 'reached', at, values: Object.fromEntries(values) }
  }

  #createObserver({ deviceId, found }: TableEntry): () => Seen {
    const profile = withRest(found)
    const readState = () => this.readState(deviceId)
    const { now } = this.#context
    const observer = new RestObserver({ deviceId, profile, behaviour: 'cut', readState, now })
    return () => observer.look()
  }

  #createTable(): DeviceTable {
    const { max_devices, name } = this.#config
    const { logger, now } = this.#context
    return new DeviceTable({
      maxDevices: max_devices,
      now,
      onTopics: change => this.#connection.exchangeFilters(change),
      onMoved: ({ found }) => this.#questions.repeat(found.question),
      onFull: () =>
        logger.warn({ broker: name, max_devices }, 'devices of an MQTT broker are skipped'),
    })
  }

  async #send(deviceId: string, operation: MqttOperation, signal: AbortSignal): Promise<void> {
    const { topic, payload } = operation
    const isReported = this.#isReported(deviceId, operation)
    const confirm = isReported ? undefined : operation.confirm
    const limit = this.#signal ? AbortSignal.any([signal, this.#signal]) : signal
    const since = this.#context.now()
    if (!isReported) this.#require(deviceId).orderedAt = since
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

  /**
   * True when the device has reported the confirming value already, after every command that may have
   * changed it: it may not report it again.
   */
  #isReported(deviceId: string, { confirm }: MqttOperation): boolean {
    const { found, state, isHeard, orderedAt } = this.#require(deviceId)
    if (confirm === undefined || !isHeard) return false
    const reading = state.readings[confirm.property]
    const staleAfterMs = found.profile.properties[confirm.property]?.stale_after_ms
    if (reading === undefined || staleAfterMs === undefined || reading.at < orderedAt) return false
    return isConfirmedBy(confirm, reading.value) && this.#context.now() - reading.at < staleAfterMs
  }

  #handleMessage({ topic, payload, isRetained }: MqttMessage): void {
    const parsed = parsePayload(payload)
    const found = this.#findDevices(topic, parsed)
    if (found !== undefined) this.#table.replace(topic, found)
    this.#questions.ask(this.#sourcesOf(topic).flatMap(source => source.ask?.(topic, parsed) ?? []))
    const changed = this.#table.accept(topic, parsed, isRetained)
    for (const { state } of changed) this.#confirmations.settle(state)
    if (found !== undefined) this.#askQuiet()
    if (found !== undefined || changed.length > 0) this.#notify()
  }

  #sourcesOf(topic: string): readonly Source[] {
    return this.#sources.filter(({ filters }) => filters.some(each => matchesFilter(each, topic)))
  }

  /** Asks the devices that have not been heard on this connection for their state. */
  #askQuiet(): void {
    const quiet = this.#table.list().filter(({ isHeard }) => !isHeard)
    this.#questions.ask(quiet.flatMap(({ found }) => found.question ?? []))
  }

  #forgetPresence(): void {
    this.#table.forgetPresence()
    this.#questions.forget()
  }

  /** Devices that an announcement describes; undefined for any other message. */
  #findDevices(topic: string, payload: Payload): FoundDevice[] | undefined {
    const found = this.#sourcesOf(topic)
      .map(source => source.read(topic, payload))
      .filter(devices => devices !== undefined)
    return found.length === 0 ? undefined : found.flat()
  }

  #describe(entry: TableEntry): LinkedDevice {
    const { deviceId, found } = entry
    const { name, envelope, readOnlyReason, site = this.#config.site } = found
    const absence = this.#connection.reason ?? explainAbsence(entry)
    const reason = absence ?? readOnlyReason
    return {
      deviceId,
      name,
      profile: withRest(found),
      available: absence === undefined,
      writable: readOnlyReason === undefined,
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

/** A device rests once it has confirmed its stop; one that confirms nothing does not show it. */
const withRest = ({ profile, commands, stopVerb = 'off' }: FoundDevice): DeviceProfile => {
  const { confirm } = (Object.hasOwn(commands, stopVerb) && commands[stopVerb]) || {}
  if (confirm === undefined) return profile
  return { ...profile, rest: [[{ property: confirm.property, allowed: [confirm.value] }]] }
}
