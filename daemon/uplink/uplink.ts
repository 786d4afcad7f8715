import type { Envelope } from '../../shared/wire/envelope.ts'
import type { FindingsBody } from '../../shared/wire/findings.ts'
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
import { ControlSessions } from './control-sessions.ts'
import { dial } from './dial.ts'
import { type MessageListener, MessageListeners } from './message-listeners.ts'
import { MqttSession } from './mqtt-session.ts'
import type { Nudge } from './nudge.ts'
import type { QuarantineNotice } from './quarantine-notice.ts'
import type { Batch } from './spool.ts'

interface UplinkOptions extends BacklogParts {
  identity: Identity
  /** Coordinators of the fleet; the uplink learns here who lives. */
  coordinators: KnownCoordinators
  connectTimeoutSeconds: number
  nudge: Nudge
  /** Notice shared by all connections to one coordinator. */
  quarantine?: QuarantineNotice
  onCoverage?: PlaneOptions['onCoverage']
  /** Receives every message just before it is sent to that coordinator. */
  onSend?: (message: Envelope, replica: string) => void
  random?: () => number
}

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
  readonly #listeners: MessageListeners
  readonly #sessions = new ControlSessions()

  constructor(options: UplinkOptions) {
    this.#options = options
    this.#backlog = new Backlog(options)
    this.#listeners = new MessageListeners(options.logger)
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
      const session = this.#sessions.find(replica)
      if (session) listener(session)
    })
  }

  /**
   * Calls the listener for every message on a topic, with the id of the coordinator that sent it;
   * bodies are not validated here.
   */
  on(name: TopicName, listener: MessageListener): () => void {
    return this.#listeners.add(name, listener)
  }

  /** Number of coordinators with an open session. */
  countSessions(): number {
    return this.#sessions.all.length
  }

  /**
   * Publishes to the home coordinator on a topic of this cell; `id` is that of a command, for the
   * topics that end with one. Rejects without a connection, or when it ends.
   */
  async publish(name: TopicName, body: unknown, id?: string): Promise<void> {
    const { home } = this.#sessions
    if (home === undefined) throw createDisconnectedError()
    await home.publish(name, body, id)
  }

  /** Publishes to every coordinator. Resolves when one has the message, and rejects when none has. */
  async publishToAll(name: TopicName, body: unknown): Promise<void> {
    const sent = this.#sessions.all.map(session => session.publish(name, body))
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
    const { home } = this.#sessions
    try {
      await this.publish(name, body, id)
    } catch (error) {
      const next = this.#sessions.home
      if (next !== undefined && next !== home) return this.deliver(name, body, id)
      if (!this.#backlog.canKeepMessages) throw error
      await this.#backlog.keepMessage({ name, id, body })
    }
  }

  /**
   * Hands findings over to the disk; the home coordinator receives them in their order, now or after
   * the next connect. Rejects when the disk does not keep them.
   */
  keepFindings(body: FindingsBody): Promise<void> {
    return this.#backlog.keepFindings(body)
  }

  /** Sets other limits for the storage; the rate applies from the next connect on. */
  limitSpool(limits: SpoolLimits): void {
    this.#backlog.limit(limits)
  }

  /** Sends the newest sample to every coordinator, or keeps it for later when there is none. */
  offer(sample: Sample): void {
    const { ready } = this.#sessions
    for (const session of ready) session.offer(sample)
    if (ready.length === 0) this.#backlog.keepSample(JSON.stringify(sample))
  }

  /** Samples that could not be kept, since the start. */
  countDropped(): number {
    return this.#backlog.countDropped()
  }

  /** Announces to every coordinator that the cell stops accepting requests. */
  sayDraining(): void {
    for (const session of this.#sessions.all) session.sayDraining()
  }

  async #connect(
    { url, linked }: DialTarget,
    { onMet, onUp }: ConnectionEvents,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#backlog.open()
    const { identity, connectTimeoutSeconds, onSend } = this.#options
    const { socket, replica, capability } = await dial({
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
        onMessage: message => this.#listeners.receive(message, id),
      })
      session = new ControlSession({ replica: id, capability, mqtt, identity, onSend })
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
    this.#sessions.add(session)
    const until = AbortSignal.any([signal, over.signal])
    const work = this.#greetAndDrain(session, onUp, until).catch(cause => {
      // a session that ends by itself refuses new messages, and still has to say its goodbye
      if (!signal.aborted) mqtt.destroy()
      return cause as Error
    })
    if (signal.aborted) mqtt.end()
    const error = await mqtt.closed
    this.#forget(session)
    over.abort()
    const cause = await work
    if (this.#sessions.hasBacklog(session)) {
      this.#backlog.release()
      this.#sessions.passBacklog()
    }
    if (error ?? cause) throw error ?? cause
  }

  #forget(session: ControlSession): void {
    this.#sessions.remove(session)
    if (this.countSessions() === 0) this.#options.coordinators.forget()
    for (const listener of this.#endListeners) listener(session.replica)
  }

  async #greetAndDrain(
    session: ControlSession,
    onUp: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (const greet of this.#greetings) await greet(session)
    if (signal.aborted) return
    this.#sessions.markReady(session)
    onUp()
    for (const listener of this.#readyListeners) listener(session)
    if (!(await this.#sessions.takeBacklog(session, signal))) return
    const senders = {
      sendMessages: (kept: KeptMessage[]) => session.sendKept(kept),
      sendSamples: (batch: Batch) => session.sendHistory(batch),
      sendFindings: (body: FindingsBody, signal: AbortSignal) =>
        session.publish('findings', body, undefined, signal),
    }
    await this.#backlog.drain(senders, signal)
  }
}

const createDisconnectedError = (): Error => new Error('there is no connection to the coordinator')
