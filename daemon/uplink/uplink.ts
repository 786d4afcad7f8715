import { Envelope, envelope, type StateBody } from '../../shared/wire/envelope.ts'
import { MQTT_PATH, MQTT_PROTOCOL } from '../../shared/wire/link.ts'
import type { Sample } from '../../shared/wire/telemetry.ts'
import type { TopicName } from '../../shared/wire/topics.ts'
import type { Identity } from '../identity.ts'
import type { Service, ServiceContext } from '../service.ts'
import { Backlog, type BacklogParts, type KeptMessage, type SpoolLimits } from './backlog.ts'
import { dial } from './dial.ts'
import { keepConnected } from './keep-connected.ts'
import { MqttSession, type ReceivedMessage } from './mqtt-session.ts'
import type { Nudge } from './nudge.ts'
import type { QuarantineNotice } from './quarantine-notice.ts'
import type { Batch } from './spool.ts'

export interface UplinkOptions extends BacklogParts {
  identity: Identity
  /** Address of the coordinator. */
  url: string
  connectTimeoutSeconds: number
  nudge: Nudge
  /** Shared by all connections to one coordinator. */
  quarantine?: QuarantineNotice
  /** Called with every message just before it is sent. */
  onSend?: (message: Envelope) => void
  random?: () => number
}

const DRAINING: StateBody = { state: 'draining' }

/**
 * The control plane: MQTT over the coordinator's HTTP port. While the coordinator is away, samples
 * go to the disk; afterwards they are sent as history, beside the live ones.
 */
export class Uplink implements Service {
  readonly name = 'uplink'
  readonly #options: UplinkOptions
  readonly #backlog: Backlog
  readonly #greetings = new Set<() => Promise<void>>()
  readonly #readyListeners = new Set<() => void>()
  readonly #listeners = new Map<TopicName, Set<(message: Envelope) => void>>()
  /** Current connection; its greetings may still be pending. */
  #session: MqttSession | undefined
  #greeted = false

  constructor(options: UplinkOptions) {
    this.#options = options
    this.#backlog = new Backlog(options)
  }

  async start({ signal, fail }: ServiceContext): Promise<void> {
    const { health, nudge, quarantine, wait, random } = this.#options
    await this.#backlog.open()
    keepConnected({
      name: 'uplink connection',
      connect: up => this.#connect(up, signal),
      signal,
      health,
      nudge,
      quarantine,
      ...(wait && { wait }),
      ...(random && { random }),
    })
      .finally(() => this.#backlog.close())
      .catch(fail)
  }

  /** Calls the listener after every connect, before anything else is sent. */
  onConnect(greet: () => Promise<void>): () => void {
    this.#greetings.add(greet)
    return () => this.#greetings.delete(greet)
  }

  /** Calls the listener after every connect, once samples are sent live again. */
  onReady(listener: () => void): () => void {
    this.#readyListeners.add(listener)
    return () => this.#readyListeners.delete(listener)
  }

  /** Calls the listener when the coordinator asks for a new announcement. */
  onRebirth(listener: () => void): () => void {
    return this.on('rebirth', listener)
  }

  /**
   * Calls the listener for every message of the coordinator on a topic; bodies are not validated
   * here.
   */
  on(name: TopicName, listener: (message: Envelope) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /**
   * Publishes on a topic of this cell; `id` is that of a command, for the topics that end with one.
   * Rejects without a connection, or when it ends.
   */
  async publish(name: TopicName, body: unknown, id?: string): Promise<void> {
    if (this.#session === undefined) throw new Error('there is no connection to the coordinator')
    const message = this.#envelope(name, body)
    this.#options.onSend?.(message)
    await this.#session.publish(name, message, id)
  }

  /**
   * Publishes a message that must not get lost. Resolves when the coordinator has it, or when it is
   * on disk and will be sent after the next connect, possibly by a later process. Rejects when
   * neither is possible.
   */
  async deliver(name: TopicName, body: unknown, id?: string): Promise<void> {
    try {
      await this.publish(name, body, id)
    } catch (error) {
      if (!this.#backlog.canKeepMessages) throw error
      await this.#backlog.keepMessage({ name, id, body })
    }
  }

  /** Sets other limits for the storage; the rate applies from the next connect on. */
  limitSpool(limits: SpoolLimits): void {
    this.#backlog.limit(limits)
  }

  /** Sends the newest sample, or keeps it for later. */
  offer(sample: Sample): void {
    if (this.#session && this.#greeted) this.#session.offer(this.#envelope('telemetry', sample))
    else this.#backlog.keepSample(JSON.stringify(sample))
  }

  /** Samples that could not be kept, since the start. */
  countDropped(): number {
    return this.#backlog.countDropped()
  }

  async #connect(onUp: () => void, signal: AbortSignal): Promise<void> {
    await this.#backlog.open()
    const { identity, url, connectTimeoutSeconds } = this.#options
    const socket = await dial({
      url,
      path: MQTT_PATH,
      protocol: MQTT_PROTOCOL,
      identity,
      timeoutSeconds: connectTimeoutSeconds,
      signal,
    })
    let session: MqttSession | undefined
    const stop = () => (session === undefined ? socket.destroy() : this.#leave(session))
    signal.addEventListener('abort', stop)
    try {
      session = await MqttSession.open(socket, identity, message => this.#onMessage(message))
      await this.#use(session, onUp, signal)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Announces that the cell stops accepting requests. */
  sayDraining(): void {
    this.#session?.publish('state', this.#envelope('state', DRAINING)).catch(() => {})
  }

  /** Ends the session after its pending messages. */
  #leave(session: MqttSession): void {
    session.publish('state', this.#envelope('state', DRAINING)).catch(() => {})
    session.end()
  }

  /** Serves a connection from the greeting to its end. */
  async #use(session: MqttSession, onUp: () => void, signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    this.#session = session
    const work = this.#greetAndDrain(session, onUp, over.signal).catch(cause => {
      session.destroy()
      return cause as Error
    })
    if (signal.aborted) session.end()
    const error = await session.closed
    this.#session = undefined
    this.#greeted = false
    over.abort()
    const cause = await work
    this.#backlog.release()
    if (error ?? cause) throw error ?? cause
  }

  async #greetAndDrain(session: MqttSession, onUp: () => void, signal: AbortSignal): Promise<void> {
    for (const greet of this.#greetings) await greet()
    if (signal.aborted) return
    this.#greeted = true
    onUp()
    for (const listener of this.#readyListeners) listener()
    const senders = {
      sendMessages: (kept: KeptMessage[]) => this.#resend(session, kept),
      sendSamples: (batch: Batch) => session.publish('history', this.#history(batch)),
    }
    await this.#backlog.drain(senders, signal)
  }

  /** Ignores retained messages: they do not reflect the coordinator's current state. */
  #onMessage({ name, payload, retained }: ReceivedMessage): void {
    const { logger } = this.#options
    try {
      if (retained) throw new Error('it was retained')
      const message = Envelope.parse(JSON.parse(payload.toString('utf8')))
      if (message.sender !== 'coordinator') throw new Error(`sender is ${message.sender}`)
      for (const listener of this.#listeners.get(name) ?? []) listener(message)
    } catch (error) {
      const reason = (error as Error).message.slice(0, 300)
      logger.warn({ topic: name, reason }, 'message dropped')
    }
  }

  #envelope(name: TopicName, body: unknown): Envelope {
    const { cell_id, epoch } = this.#options.identity
    return envelope(cell_id, epoch, name, body)
  }

  async #resend(session: MqttSession, kept: KeptMessage[]): Promise<void> {
    await Promise.all(
      kept.map(({ name, id, body }) => session.publish(name, this.#envelope(name, body), id)),
    )
  }

  #history({ id, texts }: Batch): Envelope {
    const samples = texts.map(text => JSON.parse(text))
    return { ...this.#envelope('history', { samples }), id }
  }
}
