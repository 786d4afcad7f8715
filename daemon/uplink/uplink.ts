import { waitUntilAborted } from '../../shared/wait.ts'
import { Envelope } from '../../shared/wire/envelope.ts'
import { MQTT_PATH, MQTT_PROTOCOL } from '../../shared/wire/link.ts'
import { ReplicasBody } from '../../shared/wire/replicas.ts'
import type { Sample } from '../../shared/wire/telemetry.ts'
import type { TopicName } from '../../shared/wire/topics.ts'
import type { KnownCoordinators } from '../coordinators/known-coordinators.ts'
import {
  type ConnectionEvents,
  type DialTarget,
  PlaneConnections,
  type PlaneOptions,
} from '../coordinators/plane-connections.ts'
import type { Identity } from '../identity.ts'
import type { Service, ServiceContext } from '../service.ts'
import { Backlog, type BacklogParts, type KeptMessage, type SpoolLimits } from './backlog.ts'
import { ControlSession } from './control-session.ts'
import { dial } from './dial.ts'
import { MqttSession, type ReceivedMessage } from './mqtt-session.ts'
import { Nudge } from './nudge.ts'
import type { QuarantineNotice } from './quarantine-notice.ts'
import type { Batch } from './spool.ts'

export interface UplinkOptions extends BacklogParts {
  identity: Identity
  /** Coordinators of the fleet; the uplink learns here who lives. */
  coordinators: KnownCoordinators
  connectTimeoutSeconds: number
  nudge: Nudge
  /** Shared by all connections to one coordinator. */
  quarantine?: QuarantineNotice
  onCoverage?: PlaneOptions['onCoverage']
  /** Called with every message just before it is sent to that coordinator. */
  onSend?: (message: Envelope, replica: string) => void
  random?: () => number
}

type MessageListener = (message: Envelope, replica: string) => void

/**
 * The control plane: one MQTT session per live coordinator, over its HTTP port. One of them is home,
 * the longest connected: it alone receives acks and late samples. While no coordinator is connected,
 * samples go to the disk; afterwards they are sent as history, beside the live ones.
 */
export class Uplink implements Service {
  readonly name = 'uplink'
  readonly #options: UplinkOptions
  readonly #backlog: Backlog
  readonly #greetings = new Set<(session: ControlSession) => Promise<void>>()
  readonly #readyListeners = new Set<(session: ControlSession) => void>()
  readonly #endListeners = new Set<(replica: string) => void>()
  readonly #listeners = new Map<TopicName, Set<MessageListener>>()
  /** Open sessions; their greetings may still be pending. */
  #sessions: ControlSession[] = []
  /** Sessions after their greetings, the longest connected first: that one is home. */
  #ready: ControlSession[] = []
  /** Session that sends the backlog; another may only begin once this one's batches are released. */
  #drainer: ControlSession | undefined
  readonly #drainerLeft = new Nudge()

  constructor(options: UplinkOptions) {
    this.#options = options
    this.#backlog = new Backlog(options)
    this.on('replicas', ({ body }) => options.coordinators.learn(ReplicasBody.parse(body)))
  }

  async start({ signal, fail }: ServiceContext): Promise<void> {
    const { coordinators, health, nudge, quarantine, onCoverage, wait, random } = this.#options
    await this.#backlog.open()
    const connections = new PlaneConnections({
      name: 'uplink connection',
      known: coordinators,
      connect: (target, events) => this.#connect(target, events, signal),
      signal,
      health,
      nudge,
      quarantine,
      onCoverage,
      wait,
      random,
    })
    connections
      .run()
      .finally(() => this.#backlog.close())
      .catch(fail)
  }

  /** Calls the listener after every connect, before anything else is sent to that coordinator. */
  onConnect(greet: (session: ControlSession) => Promise<void>): () => void {
    this.#greetings.add(greet)
    return () => this.#greetings.delete(greet)
  }

  /** Calls the listener after every connect, once samples are sent live to that coordinator. */
  onReady(listener: (session: ControlSession) => void): () => void {
    this.#readyListeners.add(listener)
    return () => this.#readyListeners.delete(listener)
  }

  /** Calls the listener with the id of a coordinator whose session has ended. */
  onEnd(listener: (replica: string) => void): () => void {
    this.#endListeners.add(listener)
    return () => this.#endListeners.delete(listener)
  }

  /** Calls the listener when a coordinator asks for a new announcement. */
  onRebirth(listener: (session: ControlSession) => void): () => void {
    return this.on('rebirth', (_message, replica) => {
      const session = this.#sessions.find(session => session.replica === replica)
      if (session) listener(session)
    })
  }

  /**
   * Calls the listener for every message on a topic, with the id of the coordinator that sent it;
   * bodies are not validated here.
   */
  on(name: TopicName, listener: MessageListener): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Number of coordinators with an open session. */
  countSessions(): number {
    return this.#sessions.length
  }

  /**
   * Publishes to the home coordinator on a topic of this cell; `id` is that of a command, for the
   * topics that end with one. Rejects without a connection, or when it ends.
   */
  async publish(name: TopicName, body: unknown, id?: string): Promise<void> {
    const home = this.#home
    if (home === undefined) throw createDisconnectedError()
    await home.publish(name, body, id)
  }

  /** Publishes to every coordinator. Resolves when one has the message, and rejects when none has. */
  async publishToAll(name: TopicName, body: unknown): Promise<void> {
    const sent = this.#sessions.map(session => session.publish(name, body))
    await Promise.any(sent).catch(({ errors }: AggregateError) => {
      throw errors[0] ?? createDisconnectedError()
    })
  }

  /**
   * Publishes a message that must not get lost, through the next home when one is lost. Resolves
   * when a coordinator has it, or when it is on disk and will be sent after the next connect,
   * possibly by a later process. Rejects when neither is possible.
   */
  async deliver(name: TopicName, body: unknown, id?: string): Promise<void> {
    const home = this.#home
    try {
      await this.publish(name, body, id)
    } catch (error) {
      if (this.#home !== undefined && this.#home !== home) return this.deliver(name, body, id)
      if (!this.#backlog.canKeepMessages) throw error
      await this.#backlog.keepMessage({ name, id, body })
    }
  }

  /** Sets other limits for the storage; the rate applies from the next connect on. */
  limitSpool(limits: SpoolLimits): void {
    this.#backlog.limit(limits)
  }

  /** Sends the newest sample to every coordinator, or keeps it for later when there is none. */
  offer(sample: Sample): void {
    for (const session of this.#ready) session.offer(sample)
    if (this.#ready.length === 0) this.#backlog.keepSample(JSON.stringify(sample))
  }

  /** Samples that could not be kept, since the start. */
  countDropped(): number {
    return this.#backlog.countDropped()
  }

  /** Announces to every coordinator that the cell stops accepting requests. */
  sayDraining(): void {
    for (const session of this.#sessions) session.sayDraining()
  }

  get #home(): ControlSession | undefined {
    return this.#ready[0] ?? this.#sessions[0]
  }

  async #connect(
    { url, linked }: DialTarget,
    { onMet, onUp }: ConnectionEvents,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#backlog.open()
    const { identity, connectTimeoutSeconds, onSend } = this.#options
    const { socket, replica } = await dial({
      url,
      path: MQTT_PATH,
      protocol: MQTT_PROTOCOL,
      identity,
      linked,
      timeoutSeconds: connectTimeoutSeconds,
      signal,
    })
    let session: ControlSession | undefined
    const stop = () => (session === undefined ? socket.destroy() : session.leave())
    signal.addEventListener('abort', stop)
    try {
      const id = onMet(replica)
      const mqtt = await MqttSession.open(socket, identity, {
        hasReplicas: replica !== undefined,
        onMessage: message => this.#onMessage(message, id),
      })
      session = new ControlSession({ replica: id, mqtt, identity, onSend })
      await this.#use(session, mqtt, onUp, signal)
    } finally {
      signal.removeEventListener('abort', stop)
      socket.destroy()
    }
  }

  /** Serves a session from the greeting to its end. */
  async #use(
    session: ControlSession,
    mqtt: MqttSession,
    onUp: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const over = new AbortController()
    this.#sessions.push(session)
    const work = this.#greetAndDrain(session, onUp, over.signal).catch(cause => {
      mqtt.destroy()
      return cause as Error
    })
    if (signal.aborted) mqtt.end()
    const error = await mqtt.closed
    this.#forget(session)
    over.abort()
    const cause = await work
    if (this.#drainer === session) {
      this.#backlog.release()
      this.#drainer = undefined
      this.#drainerLeft.ring()
    }
    if (error ?? cause) throw error ?? cause
  }

  #forget(session: ControlSession): void {
    this.#sessions = this.#sessions.filter(one => one !== session)
    this.#ready = this.#ready.filter(one => one !== session)
    if (this.#sessions.length === 0) this.#options.coordinators.forget()
    for (const listener of this.#endListeners) listener(session.replica)
  }

  async #greetAndDrain(
    session: ControlSession,
    onUp: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (const greet of this.#greetings) await greet(session)
    if (signal.aborted) return
    this.#ready.push(session)
    onUp()
    for (const listener of this.#readyListeners) listener(session)
    await this.#waitForTurn(session, signal)
    if (signal.aborted) return
    this.#drainer = session
    const senders = {
      sendMessages: (kept: KeptMessage[]) => session.sendKept(kept),
      sendSamples: (batch: Batch) => session.sendHistory(batch),
    }
    await this.#backlog.drain(senders, signal)
  }

  /** Resolves when the session is home and no other one sends the backlog. */
  async #waitForTurn(session: ControlSession, signal: AbortSignal): Promise<void> {
    const isItsTurn = () => this.#ready[0] === session && this.#drainer === undefined
    while (!signal.aborted && !isItsTurn())
      await this.#drainerLeft.wait(waitUntilAborted, 0, signal)
  }

  /** Ignores retained messages: they do not reflect the coordinator's current state. */
  #onMessage({ name, payload, retained }: ReceivedMessage, replica: string): void {
    const { logger } = this.#options
    try {
      if (retained) throw new Error('it was retained')
      const message = Envelope.parse(JSON.parse(payload.toString('utf8')))
      if (message.sender !== 'coordinator') throw new Error(`sender is ${message.sender}`)
      for (const listener of this.#listeners.get(name) ?? []) listener(message, replica)
    } catch (error) {
      const reason = (error as Error).message.slice(0, 300)
      logger.warn({ topic: name, reason }, 'message dropped')
    }
  }
}

const createDisconnectedError = (): Error => new Error('there is no connection to the coordinator')
