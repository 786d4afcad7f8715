import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { Envelope, envelope, type StateBody } from '../../shared/wire/envelope.ts'
import { MQTT_PATH, MQTT_PROTOCOL } from '../../shared/wire/link.ts'
import type { Sample } from '../../shared/wire/telemetry.ts'
import type { TopicName } from '../../shared/wire/topics.ts'
import type { Health } from '../health.ts'
import type { Identity } from '../identity.ts'
import type { Service, ServiceContext } from '../service.ts'
import { dial } from './dial.ts'
import { drain } from './drain.ts'
import { keepConnected } from './keep-connected.ts'
import { type Arrived, MqttSession } from './mqtt-session.ts'
import type { Nudge } from './nudge.ts'
import type { QuarantineNotice } from './quarantine-notice.ts'
import { MAX_RECORD_BYTES } from './records.ts'
import { type Batch, Spool } from './spool.ts'
import { TokenBucket } from './token-bucket.ts'

export interface UplinkOptions {
  identity: Identity
  /** Address of the coordinator. */
  url: string
  connectTimeoutSeconds: number
  /** Samples of the time without a connection: the oldest make way when it is full. */
  spool: { folder: string; maxBytes: number; drainBytesPerSecond: number }
  /** What must reach the coordinator: nothing makes way, and it is sent first. */
  outbox?: { folder: string; maxBytes: number }
  health: Health
  nudge: Nudge
  /** Shared by all connections to one coordinator. */
  quarantine?: QuarantineNotice
  /** Called with every message just before it is sent. */
  sending?: (message: Envelope) => void
  logger: Logger
  wait?: Wait
  random?: () => number
}

export interface SpoolLimits {
  maxBytes: number
  drainBytesPerSecond: number
  outboxBytes?: number
}

/** A message as it waits in the outbox. */
interface Kept {
  name: TopicName
  id: string | undefined
  body: unknown
}

/** A spool opens in far less time than it takes to make so many samples. */
const MAX_EARLY = 32

/** What is given up after so many ended connections is refused by the coordinator, not by chance. */
const OUTBOX = {
  makesRoom: 'nothing',
  batchRecords: 10,
  batchBytes: MAX_RECORD_BYTES,
  maxAttempts: 20,
} as const

const DRAINING: StateBody = { state: 'draining' }

/**
 * The control plane: MQTT over the coordinator's HTTP port. While the coordinator is away, samples
 * go to the disk; afterwards they are sent as history, beside the live ones.
 */
export class Uplink implements Service {
  readonly name = 'uplink'
  readonly #options: UplinkOptions
  #limits: { maxBytes: number; drainBytesPerSecond: number }
  readonly #greetings = new Set<() => Promise<void>>()
  readonly #readyListeners = new Set<() => void>()
  readonly #listeners = new Map<TopicName, Set<(message: Envelope) => void>>()
  /** Connected; the greetings may still be under way. */
  #session: MqttSession | undefined
  #greeted = false
  #spool: Spool | undefined
  #outbox: Spool | undefined
  /** Samples that came before the spool was tried for the first time. */
  #early: string[] | undefined = []
  /** Samples that came when there was neither a connection nor a spool. */
  #lost = 0

  constructor(options: UplinkOptions) {
    this.#options = options
    this.#limits = options.spool
  }

  async start({ signal, fail }: ServiceContext): Promise<void> {
    const { health, nudge, quarantine, wait, random } = this.#options
    await this.#openSpool()
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
    return this.on('rebirth', listener)
  }

  /** Called for every message of the coordinator on a topic; its body is not checked yet. */
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
    this.#options.sending?.(message)
    await this.#session.publish(name, message, id)
  }

  /**
   * As `publish`, for what must not get lost: resolves when the coordinator has it, or when it is on
   * the disk and goes out after the next connect, also one of a later process. Rejects when neither.
   */
  async deliver(name: TopicName, body: unknown, id?: string): Promise<void> {
    try {
      await this.publish(name, body, id)
    } catch (error) {
      if (this.#outbox === undefined) throw error
      await this.#outbox.keep(JSON.stringify({ name, id, body } satisfies Kept))
    }
  }

  /** Sets other bounds for what waits on the disk; the speed holds from the next connect on. */
  limitSpool(limits: SpoolLimits): void {
    this.#limits = limits
    this.#spool?.limit(limits.maxBytes)
    if (limits.outboxBytes !== undefined) this.#outbox?.limit(limits.outboxBytes)
  }

  /** Sends the newest sample, or keeps it for later. */
  offer(sample: Sample): void {
    if (this.#session && this.#greeted) this.#session.offer(this.#envelope('telemetry', sample))
    else this.#keep(JSON.stringify(sample))
  }

  #keep(text: string): void {
    if (this.#spool) this.#spool.append(text)
    else if (this.#early && this.#early.length < MAX_EARLY) this.#early.push(text)
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
      identity,
      timeoutSeconds: connectTimeoutSeconds,
      signal,
    })
    let session: MqttSession | undefined
    const stop = () => (session === undefined ? socket.destroy() : this.#leave(session))
    signal.addEventListener('abort', stop)
    try {
      session = await MqttSession.open(socket, identity, message => this.#onMessage(message))
      await this.#use(session, spool, up, signal)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Says that no new requests should come. */
  sayDraining(): void {
    this.#session?.publish('state', this.#envelope('state', DRAINING)).catch(() => {})
  }

  /** The end of the session waits for what is being said. */
  #leave(session: MqttSession): void {
    session.publish('state', this.#envelope('state', DRAINING)).catch(() => {})
    session.end()
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
    this.#outbox?.release()
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
    const bucket = new TokenBucket(this.#limits.drainBytesPerSecond)
    const how = { bucket, wait: this.#options.wait ?? realWait, signal }
    const outbox = this.#outbox
    if (outbox) await drain({ ...how, spool: outbox, send: batch => this.#resend(session, batch) })
    const send = (batch: Batch) => session.publish('history', this.#history(batch))
    if (spool) await drain({ ...how, spool, send })
  }

  /** What a broker kept from an earlier time is not what the coordinator wants now. */
  #onMessage({ name, payload, retained }: Arrived): void {
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

  async #resend(session: MqttSession, { texts }: Batch): Promise<void> {
    const kept = texts.map(text => JSON.parse(text) as Kept)
    await Promise.all(
      kept.map(({ name, id, body }) => session.publish(name, this.#envelope(name, body), id)),
    )
  }

  #history({ id, texts }: Batch): Envelope {
    const samples = texts.map(text => JSON.parse(text))
    return { ...this.#envelope('history', { samples }), id }
  }

  /** A disk that fails must not keep the cell out of its fleet. */
  async #openSpool(): Promise<Spool | undefined> {
    const { spool, outbox, health, logger } = this.#options
    try {
      const { maxBytes } = this.#limits
      this.#spool ??= await Spool.open({ folder: spool.folder, maxBytes, logger })
      if (outbox) this.#outbox ??= await Spool.open({ ...outbox, ...OUTBOX, logger })
      health.report('spool', 'running')
    } catch (error) {
      health.report('spool', 'waiting', (error as Error).message)
    }
    const early = this.#early ?? []
    this.#early = undefined
    for (const text of early) this.#keep(text)
    return this.#spool
  }

  async #closeSpool(): Promise<void> {
    const spool = this.#spool
    const outbox = this.#outbox
    this.#spool = undefined
    this.#outbox = undefined
    await spool?.close()
    await outbox?.close()
  }
}
