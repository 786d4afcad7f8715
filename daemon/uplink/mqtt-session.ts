import type { Socket } from 'node:net'
import { type IClientOptions, MqttClient } from 'mqtt'
import { type Envelope, envelope, type StateBody } from '../../shared/wire/envelope.ts'
import { parseTopic, TOPICS, type TopicName, topicFor } from '../../shared/wire/topics.ts'
import { credentialOf, type Identity } from '../identity.ts'

const KEEPALIVE_SECONDS = 5
const CONNECT_TIMEOUT_MS = 5000
/** Longest time that a clean end may take. */
const END_TIMEOUT_MS = 2000

/** Every topic on which the coordinator speaks to this cell. */
const DOWN = (Object.keys(TOPICS) as TopicName[]).filter(
  name => TOPICS[name].direction === 'down' && TOPICS[name].path.startsWith('cells/'),
)

/** Received message; only its topic has been checked. */
export interface ReceivedMessage {
  name: TopicName
  payload: Buffer
  /** True when the broker had retained the message. */
  retained: boolean
}

interface MqttSessionOptions {
  /** False for an older coordinator, which refuses a subscription to `replicas`. */
  hasReplicas: boolean
  onMessage: (message: ReceivedMessage) => void
}

/** One MQTT connection from CONNECT to its end; it is not reused. */
export class MqttSession {
  /** Resolves when the connection has ended, with the error if there was one. */
  readonly closed: Promise<Error | undefined>
  readonly #client: MqttClient
  readonly #socket: Socket
  readonly #identity: Identity
  readonly #pending = new Set<(error: Error) => void>()
  /** The newest envelope that found the socket full. */
  #held: Envelope | undefined

  /** Connects over a socket that speaks MQTT, and subscribes. */
  static async open(
    socket: Socket,
    identity: Identity,
    { hasReplicas, onMessage }: MqttSessionOptions,
  ): Promise<MqttSession> {
    const session = new MqttSession(socket, identity)
    session.#client.on('message', (topic, payload, { retain }) => {
      const parsed = parseTopic(topic)
      if (parsed?.cellId === identity.cell_id)
        onMessage({ name: parsed.name, payload, retained: retain })
    })
    try {
      await Promise.race([session.#waitConnected(), session.#waitFailed()])
      await Promise.race([session.#subscribe(hasReplicas), session.#waitFailed()])
      return session
    } catch (error) {
      await session.destroy()
      throw error
    }
  }

  private constructor(socket: Socket, identity: Identity) {
    this.#socket = socket
    this.#identity = identity
    this.#client = new MqttClient(() => socket, optionsFor(identity))
    let error: Error | undefined
    this.#client.on('error', cause => {
      error ??= cause
      socket.destroy()
    })
    this.closed = new Promise(resolve => this.#client.once('close', () => resolve(error)))
    this.closed.then(() => this.#rejectPending())
    socket.on('drain', () => this.#flush())
  }

  /**
   * Resolves when the coordinator has acknowledged; rejects when the connection ends or the signal
   * aborts first.
   */
  publish(name: TopicName, message: Envelope, id?: string, signal?: AbortSignal): Promise<void> {
    const { qos, retain } = TOPICS[name]
    const topic = topicFor(name, this.#identity.cell_id, id)
    return new Promise((resolve, reject) => {
      if (!this.#client.connected) return reject(createConnectionEndedError())
      this.#pending.add(reject)
      const withdraw = (): void => {
        this.#client.removeOutgoingMessage(messageId)
      }
      this.#client.publish(topic, JSON.stringify(message), { qos, retain }, error => {
        signal?.removeEventListener('abort', withdraw)
        this.#pending.delete(reject)
        if (error) reject(error)
        else resolve()
      })
      const messageId = this.#client.getLastMessageId()
      signal?.addEventListener('abort', withdraw)
    })
  }

  /**
   * Sends telemetry now or, when the socket is full, as soon as it drains; only the newest is kept.
   */
  offer(message: Envelope): void {
    this.#held = message
    if (!this.#socket.writableNeedDrain) this.#flush()
  }

  /** Sends DISCONNECT after pending messages, so that the will is not published. */
  async end(): Promise<void> {
    const deadline = setTimeout(() => this.#socket.destroy(), END_TIMEOUT_MS)
    await Promise.race([this.#client.endAsync(), this.closed])
    clearTimeout(deadline)
    await this.destroy()
  }

  async destroy(): Promise<void> {
    this.#socket.destroy()
    await this.closed
    await this.#client.endAsync(true)
  }

  #waitConnected(): Promise<void> {
    return new Promise(resolve => this.#client.once('connect', () => resolve()))
  }

  async #waitFailed(): Promise<never> {
    const error = await this.closed
    throw error ?? createConnectionEndedError()
  }

  #rejectPending(): void {
    for (const reject of this.#pending) reject(createConnectionEndedError())
    this.#pending.clear()
  }

  async #subscribe(hasReplicas: boolean): Promise<void> {
    const names = DOWN.filter(name => hasReplicas || name !== 'replicas')
    const topics = names.map(name => topicFor(name, this.#identity.cell_id))
    await this.#client.subscribeAsync(topics, { qos: 1 })
  }

  #flush(): void {
    const message = this.#held
    this.#held = undefined
    if (message === undefined || !this.#client.connected) return
    const topic = topicFor('telemetry', this.#identity.cell_id)
    // without a callback, a client that is ending reports the refusal as its own failure
    this.#client.publish(topic, JSON.stringify(message), { qos: TOPICS.telemetry.qos }, () => {})
  }
}

const createConnectionEndedError = (): Error => new Error('the connection ended')

const optionsFor = ({ cell_id, epoch, ...credentials }: Identity): IClientOptions => ({
  clientId: cell_id,
  username: cell_id,
  password: credentialOf(credentials),
  protocolVersion: 4,
  clean: true,
  keepalive: KEEPALIVE_SECONDS,
  connectTimeout: CONNECT_TIMEOUT_MS,
  reconnectPeriod: 0,
  queueQoSZero: false,
  will: {
    topic: topicFor('state', cell_id),
    payload: Buffer.from(
      JSON.stringify(envelope(cell_id, epoch, 'state', { state: 'lost' } satisfies StateBody)),
    ),
    qos: TOPICS.state.qos,
    retain: TOPICS.state.retain,
  },
})
