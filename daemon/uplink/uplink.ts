import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { type Envelope, envelope } from '../../shared/wire/envelope.ts'
import { MQTT_PATH, MQTT_PROTOCOL } from '../../shared/wire/link.ts'
import type { Sample } from '../../shared/wire/telemetry.ts'
import { type TopicName, topicFor } from '../../shared/wire/topics.ts'
import type { Health } from '../health.ts'
import type { Identity } from '../identity.ts'
import type { Service, ServiceContext } from '../service.ts'
import { dial } from './dial.ts'
import { drain } from './drain.ts'
import { keepConnected } from './keep-connected.ts'
import { MqttSession } from './mqtt-session.ts'
import type { Nudge } from './nudge.ts'
import { type Batch, Spool } from './spool.ts'
import { TokenBucket } from './token-bucket.ts'

export interface UplinkOptions {
  identity: Identity
  /** Address of the coordinator. */
  url: string
  connectTimeoutSeconds: number
  spool: { folder: string; maxBytes: number; drainBytesPerSecond: number }
  health: Health
  nudge: Nudge
  logger: Logger
  wait?: Wait
  random?: () => number
}

/**
 * The control plane: MQTT over the coordinator's HTTP port. While the coordinator is away, samples
 * go to the disk; afterwards they are sent as history, beside the live ones.
 */
export class Uplink implements Service {
  readonly name = 'uplink'
  readonly #options: UplinkOptions
  readonly #greetings = new Set<() => Promise<void>>()
  readonly #readyListeners = new Set<() => void>()
  readonly #rebirths = new Set<() => void>()
  /** Connected; the greetings may still be under way. */
  #session: MqttSession | undefined
  #greeted = false
  #spool: Spool | undefined
  /** Samples that came when there was neither a connection nor a spool. */
  #lost = 0

  constructor(options: UplinkOptions) {
    this.#options = options
  }

  async start({ signal, fail }: ServiceContext): Promise<void> {
    const { health, nudge, wait, random } = this.#options
    await this.#openSpool()
    keepConnected({
      name: 'uplink connection',
      connect: up => this.#connect(up, signal),
      signal,
      health,
      nudge,
      ...(wait && { wait }),
      ...(random && { random }),
    })
      .finally(() => this.#closeSpool())
      .catch(fail)
  }

  /** Called after every connect, before anything else is sent. */
  onConnect(greet: () => Promise<void>): () => void {
    this.#greetings.add(greet)
    return () => this.#greetings.delete(greet)
  }

  /** Called after every connect, when samples are sent live again. */
  onReady(listener: () => void): () => void {
    this.#readyListeners.add(listener)
    return () => this.#readyListeners.delete(listener)
  }

  /** Called when the coordinator asks what this cell is. */
  onRebirth(listener: () => void): () => void {
    this.#rebirths.add(listener)
    return () => this.#rebirths.delete(listener)
  }

  /** Publishes on a topic of this cell; rejects without a connection, or when it ends. */
  async publish(name: TopicName, body: unknown): Promise<void> {
    if (this.#session === undefined) throw new Error('there is no connection to the coordinator')
    await this.#session.publish(name, this.#envelope(name, body))
  }

  /** Sends the newest sample, or keeps it for later. */
  offer(sample: Sample): void {
    if (this.#session && this.#greeted) this.#session.offer(this.#envelope('telemetry', sample))
    else if (this.#spool) this.#spool.append(JSON.stringify(sample))
    else this.#lost++
  }

  /** Samples that could not be kept, since the start. */
  dropped(): number {
    return this.#lost + (this.#spool?.dropped ?? 0)
  }

  async #connect(up: () => void, signal: AbortSignal): Promise<void> {
    const spool = await this.#openSpool()
    const { identity, url, connectTimeoutSeconds } = this.#options
    const socket = await dial({
      url,
      path: MQTT_PATH,
      protocol: MQTT_PROTOCOL,
      cellId: identity.cell_id,
      credential: identity.credential,
      timeoutSeconds: connectTimeoutSeconds,
      signal,
    })
    let session: MqttSession | undefined
    const stop = () => (session === undefined ? socket.destroy() : session.end())
    signal.addEventListener('abort', stop)
    try {
      session = await MqttSession.open(socket, identity, topic => this.#onMessage(topic))
      await this.#use(session, spool, up, signal)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** From the greeting to the end of the connection. */
  async #use(
    session: MqttSession,
    spool: Spool | undefined,
    up: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const over = new AbortController()
    this.#session = session
    const work = this.#greetAndDrain(session, spool, up, over.signal).catch(cause => {
      session.destroy()
      return cause as Error
    })
    if (signal.aborted) session.end()
    const error = await session.closed
    this.#session = undefined
    this.#greeted = false
    over.abort()
    const cause = await work
    spool?.release()
    if (error ?? cause) throw error ?? cause
  }

  async #greetAndDrain(
    session: MqttSession,
    spool: Spool | undefined,
    up: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (const greet of this.#greetings) await greet()
    if (signal.aborted) return
    this.#greeted = true
    up()
    for (const listener of this.#readyListeners) listener()
    if (spool === undefined) return
    const bucket = new TokenBucket(this.#options.spool.drainBytesPerSecond)
    const send = (batch: Batch) => session.publish('history', this.#history(batch))
    await drain({ spool, send, bucket, wait: this.#options.wait ?? realWait, signal })
  }

  #onMessage(topic: string): void {
    if (topic !== topicFor('rebirth', this.#options.identity.cell_id)) return
    for (const listener of this.#rebirths) listener()
  }

  #envelope(name: TopicName, body: unknown): Envelope {
    const { cell_id, epoch } = this.#options.identity
    return envelope(cell_id, epoch, name, body)
  }

  #history({ id, texts }: Batch): Envelope {
    const samples = texts.map(text => JSON.parse(text))
    return { ...this.#envelope('history', { samples }), id }
  }

  /** A disk that fails must not keep the cell out of its fleet. */
  async #openSpool(): Promise<Spool | undefined> {
    const { spool, health, logger } = this.#options
    try {
      const { folder, maxBytes } = spool
      this.#spool ??= await Spool.open({ folder, maxBytes, logger })
      health.report('spool', 'running')
    } catch (error) {
      health.report('spool', 'waiting', (error as Error).message)
    }
    return this.#spool
  }

  async #closeSpool(): Promise<void> {
    const spool = this.#spool
    this.#spool = undefined
    await spool?.close()
  }
}
