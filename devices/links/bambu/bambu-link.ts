import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import { type DeviceOutcome, NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { AskedLog } from '../../asked-log.ts'
import { toDeviceFailure } from '../../device-failure.ts'
import { createDeviceId } from '../../device-id.ts'
import type {
  DeviceLink,
  ExecuteContext,
  Execution,
  LinkContext,
  LinkedDevice,
} from '../../device-link.ts'
import type { MqttConnection } from '../../mqtt/connection.ts'
import { requireFingerprint } from '../../net/trust.ts'
import type { Json } from '../../profile.ts'
import bambuPrinter from '../../profiles/bambu-printer.ts'
import { RestObserver } from '../../rest-observer.ts'
import type { BambuLinkConfig } from './config.ts'
import { createPrinterConnection, PUSHALL, PUSHALL_EVERY_MS } from './connect.ts'
import { Exchange, type PrinterOperation, parseOperation } from './exchange.ts'
import { PrinterPins } from './pins.ts'
import { PrinterState } from './printer-state.ts'
import { parseReport } from './report.ts'
import { requestTopicOf } from './topics.ts'

/** Longest time until a stop must be confirmed. */
const STOP_MS = 450
/** Longest silence of a printer that is reachable. */
const SILENT_AFTER_MS = 120_000

const stopLimit = (): AbortSignal => AbortSignal.timeout(STOP_MS)

/** Connection to one printer, by the broker that runs inside it. */
export class BambuLink implements DeviceLink {
  readonly kind = 'bambu'
  readonly #config: BambuLinkConfig
  readonly #context: LinkContext
  readonly #deviceId: string
  readonly #pins: PrinterPins
  readonly #connection: MqttConnection
  readonly #state: PrinterState
  readonly #exchange: Exchange
  readonly #listeners = new Set<() => void>()
  #pushedAtMs = Number.NEGATIVE_INFINITY
  /** Runs out when the printer has been silent for too long. */
  #silence: NodeJS.Timeout | undefined

  constructor(config: BambuLinkConfig, context: LinkContext) {
    this.#config = config
    this.#context = context
    this.#deviceId = createDeviceId(`bambu:${config.serial}`)
    this.#pins = new PrinterPins(context.stateDir)
    this.#state = new PrinterState(context.now)
    this.#connection = this.#connect()
    this.#exchange = new Exchange(this.#connection)
  }

  start(signal: AbortSignal): void {
    this.#connection.onStateChange(() => this.#handleConnection(signal))
    this.#connection.onMessage(({ payload, isRetained }) => {
      if (!isRetained) this.#handleReport(payload)
    })
    this.#connection.start(signal)
    this.#pinConfigured()
    signal.addEventListener('abort', () => clearTimeout(this.#silence), { once: true })
  }

  list(): readonly LinkedDevice[] {
    const { name, serial, site, envelope } = this.#config
    const silence = this.#connection.reason ?? this.#findSilence()
    const lock = this.#state.lockReason
    const reason = silence ?? lock
    return [
      {
        deviceId: this.#deviceId,
        name,
        profile: bambuPrinter,
        available: silence === undefined,
        writable: lock === undefined,
        options: { serial },
        ...(reason !== undefined && { reason }),
        ...(site !== undefined && { site }),
        ...(envelope !== undefined && { envelope }),
      },
    ]
  }

  readState(deviceId: string): DeviceState | undefined {
    if (deviceId !== this.#deviceId) return undefined
    const { seenAt, readings } = this.#state
    return { device_id: deviceId, seen_at: seenAt, readings }
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
    this.#requireOwn(deviceId)
    const own = operations.map(operation => parseOperation(operation, this.#config.serial))
    const outcome = await this.#observe('cut', async log => {
      for (const operation of own) await this.#executeOne(operation, log, signal)
    })
    return { ...outcome, result: { result: 'success' } }
  }

  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<DeviceOutcome> {
    this.#requireOwn(deviceId)
    if (behaviour === 'none') return NOTHING_SEEN
    const verb = behaviour === 'hold' ? 'pause' : 'stop'
    const target = { device_id: deviceId, options: { serial: this.#config.serial }, envelope: {} }
    const { operations = [] } = bambuPrinter.verbs[verb]?.plan({}, target) ?? {}
    return this.#observe(behaviour, async log => {
      for (const operation of operations)
        await this.#send(parseOperation(operation, this.#config.serial), log, stopLimit())
    })
  }

  /** Does something with the printer. Whether it resolves or rejects, it says what was seen since. */
  async #observe(
    behaviour: EstopBehaviour,
    work: (log: AskedLog) => Promise<void>,
  ): Promise<DeviceOutcome> {
    const [deviceId, profile] = [this.#deviceId, bambuPrinter]
    const readState = () => this.readState(deviceId)
    const { now } = this.#context
    const observer = new RestObserver({ deviceId, profile, behaviour, readState, now })
    const log = new AskedLog()
    try {
      await work(log)
    } catch (error) {
      throw toDeviceFailure(error, { asked: log.asked, seen: observer.look() })
    }
    return { asked: log.asked, seen: observer.look() }
  }

  #connect(): MqttConnection {
    const { serial, host, port, fingerprint, access_code_file } = this.#config
    const verifyFingerprint = (shown: string, commonName: string): Promise<void> | void =>
      fingerprint === undefined
        ? this.#pins.verify(serial, shown, commonName)
        : requireFingerprint(`printer ${serial}`, fingerprint, shown, 'the configuration')
    const readAccessCode = () => this.#context.readSecret(access_code_file)
    const address = { serial, host, port, trust: { verifyFingerprint }, readAccessCode }
    return createPrinterConnection(address, this.#context)
  }

  /** A question for the status of a printer by its address is held to the same certificate. */
  #pinConfigured(): void {
    const { serial, fingerprint } = this.#config
    if (fingerprint === undefined) return
    this.#pins.replace(serial, fingerprint).catch(error => {
      this.#context.logger.warn(
        { err: error, serial },
        'the fingerprint of a printer is not pinned',
      )
    })
  }

  async #executeOne(
    operation: PrinterOperation,
    log: AskedLog,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#send(operation, log, signal)
    } catch (error) {
      const { at_abort } = operation
      if (signal.aborted && at_abort !== undefined)
        await this.#send(at_abort, log, stopLimit()).catch(() => {})
      throw error
    }
  }

  async #send(
    operation: Omit<PrinterOperation, 'at_abort'>,
    log: AskedLog,
    signal: AbortSignal,
  ): Promise<void> {
    const { command = '' } = Object.values(operation.payload)[0] ?? {}
    await log.ask(command, async () => {
      await this.#exchange.send(operation, signal)
      return 'success'
    })
  }

  #handleConnection(signal: AbortSignal): void {
    this.#state.startOver()
    if (this.#connection.reason === undefined) this.#requestStatus(signal)
    else this.#exchange.rejectAll(this.#connection.reason)
    this.#notify()
  }

  /** Requests a full status now, or as soon as it is polite again. */
  #requestStatus(signal: AbortSignal): void {
    const { nowMs } = this.#context
    const waitMs = this.#pushedAtMs + PUSHALL_EVERY_MS - nowMs()
    if (signal.aborted || this.#state.isWhole || this.#connection.reason !== undefined) return
    if (waitMs > 0) {
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', cancel)
        this.#requestStatus(signal)
      }, waitMs)
      const cancel = (): void => clearTimeout(timer)
      signal.addEventListener('abort', cancel, { once: true })
      timer.unref()
      return
    }
    this.#pushedAtMs = nowMs()
    this.#connection.publish(requestTopicOf(this.#config.serial), PUSHALL).catch(error => {
      const { serial } = this.#config
      this.#context.logger.debug({ err: error, serial }, 'a printer was not asked for its status')
    })
  }

  #handleReport(payload: Buffer): void {
    const report = parseReport(payload)
    if (report === undefined) return
    this.#state.accept(report)
    if (report.kind === 'reply') this.#exchange.settle(report.reply)
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#notify(), SILENT_AFTER_MS + 1).unref()
    this.#notify()
  }

  #findSilence(): string | undefined {
    const { seenAt } = this.#state
    if (seenAt === null) return 'the printer has not reported yet'
    const silent_ms = this.#context.now() - seenAt
    return silent_ms > SILENT_AFTER_MS
      ? `the printer has not reported for ${Math.round(silent_ms / 1000)} s`
      : undefined
  }

  #requireOwn(deviceId: string): void {
    if (deviceId !== this.#deviceId)
      throw new ShoalError('not_found', `this link has no printer ${deviceId}`)
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
