import { connect, type Socket } from 'node:net'
import mqtt from 'mqtt-packet'
import { CAPABILITY } from '../../shared/wire/capability.ts'
import { envelope } from '../../shared/wire/envelope.ts'
import { MQTT_PATH, MQTT_PROTOCOL } from '../../shared/wire/link.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import { parseTopic, type TopicName, topicFor } from '../../shared/wire/topics.ts'
import { announce, sample } from './bodies.ts'

export interface CellLogin {
  id: string
  credential: string
  /** Key that the cell signs with. */
  privateKey?: string
}

export interface BrokerTarget {
  host: string
  port: number
  /** A broker is dialled directly; a coordinator by an upgrade. */
  kind: 'coordinator' | 'broker'
  /** Broker login, shared by all cells. */
  login?: { username: string; password: string }
}

interface CellEvents {
  /** The birth and the first state are acknowledged. */
  ready: () => void
  /** Runs when a change of state was acknowledged, with the milliseconds since it was sent. */
  onAcknowledged: (milliseconds: number) => void
  onClosed: () => void
  /** Receives the body of each message of the coordinator. */
  onMessage?: (name: TopicName, body: unknown) => void
}

/** Topics that a daemon subscribes to. */
const DOWN = ['rebirth', 'desired', 'cmd', 'estop'] as const satisfies TopicName[]
const ACKNOWLEDGED_FIRST = 2

/**
 * The control plane of one daemon on a bare socket: the same upgrade, CONNECT, subscription, birth,
 * states and telemetry, without a machine behind it.
 */
export class SimulatedCell {
  readonly id: string
  /** Changes of state after the first that were acknowledged, over all connections. */
  acknowledgedChanges = 0
  #login: CellLogin
  #target: BrokerTarget
  #events: CellEvents
  #socket: Socket | undefined
  #upgraded = false
  #head: Buffer = Buffer.alloc(0)
  #parser = mqtt.parser()
  #acknowledged = 0
  #draining = false
  #sentAt = 0
  #nextId = 1
  /** Messages of `publish` that are not acknowledged yet. */
  readonly #unacknowledged = new Map<number, () => void>()
  #epoch: number
  readonly #engines: EngineReport[] | undefined

  constructor(
    login: CellLogin,
    target: BrokerTarget,
    events: CellEvents,
    engines?: EngineReport[],
  ) {
    this.id = login.id
    this.#login = login
    this.#target = target
    this.#events = events
    this.#epoch = 1
    this.#engines = engines
  }

  get ready(): boolean {
    return this.#acknowledged >= ACKNOWLEDGED_FIRST
  }

  open(): void {
    const { host, port, kind } = this.#target
    const socket = connect(port, host)
    this.#socket = socket
    this.#head = Buffer.alloc(0)
    this.#parser = mqtt.parser()
    this.#parser.on('packet', packet => this.#take(packet))
    this.#acknowledged = 0
    this.#draining = false
    this.#sentAt = 0
    this.#upgraded = kind === 'broker'
    socket.setNoDelay(true)
    socket.on('connect', () => (this.#upgraded ? this.#greet() : this.#askUpgrade()))
    socket.on('data', bytes => this.#read(bytes))
    socket.on('error', () => {})
    socket.on('close', () => this.#events.onClosed())
  }

  /** Sends telemetry with its usual quality of service, 0. */
  sendSample(): void {
    if (this.ready) this.#publish('telemetry', sample(Date.now(), this.#engines), 0)
  }

  /** A change of state, which the coordinator must acknowledge before there is another. */
  changeState(): void {
    if (!this.ready || this.#sentAt !== 0) return
    this.#draining = !this.#draining
    this.#sentAt = performance.now()
    this.#publish('state', { state: this.#draining ? 'draining' : 'ready' }, 1)
  }

  /** Sends a message with quality of service 1; resolves when it is acknowledged. */
  publish(name: TopicName, body: unknown): Promise<void> {
    return new Promise(resolve => {
      this.#unacknowledged.set(this.#publish(name, body, 1), resolve)
    })
  }

  destroy(): void {
    this.#socket?.destroy()
  }

  #askUpgrade(): void {
    const { id, credential } = this.#login
    const basic = Buffer.from(`${id}:${credential}`).toString('base64')
    this.#socket?.write(
      `GET ${MQTT_PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n` +
        `Upgrade: ${MQTT_PROTOCOL}\r\nAuthorization: Basic ${basic}\r\n\r\n`,
    )
  }

  #greet(): void {
    const { username = this.id, password = this.#login.credential } = this.#target.login ?? {}
    const lost = JSON.stringify(envelope(this.id, this.#epoch, 'state', { state: 'lost' }))
    this.#write({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      keepalive: 5,
      clientId: this.id,
      username,
      password: Buffer.from(password),
      will: {
        topic: topicFor('state', this.id),
        payload: Buffer.from(lost),
        qos: 1,
        retain: false,
      },
    })
  }

  #onConnected(): void {
    const subscriptions = DOWN.map(name => ({ topic: topicFor(name, this.id), qos: 1 as const }))
    this.#write({ cmd: 'subscribe', messageId: this.#id(), subscriptions })
    this.#publish('birth', { ...announce(this.id, this.#engines), capability: CAPABILITY }, 1)
    this.#publish('state', { state: 'ready' }, 1)
  }

  #publish(name: TopicName, body: unknown, qos: 0 | 1): number {
    const payload = JSON.stringify(envelope(this.id, this.#epoch, name, body))
    const packet = { cmd: 'publish', topic: topicFor(name, this.id), payload, qos } as const
    const messageId = this.#id()
    this.#write({ ...packet, retain: false, dup: false, messageId })
    return messageId
  }

  #id(): number {
    this.#nextId = (this.#nextId % 60_000) + 1
    return this.#nextId
  }

  #write(packet: mqtt.Packet): void {
    this.#socket?.write(mqtt.generate(packet))
  }

  #read(bytes: Buffer): void {
    if (this.#upgraded) {
      this.#parser.parse(bytes)
      return
    }
    this.#head = Buffer.concat([this.#head, bytes])
    this.#readUpgrade()
  }

  #readUpgrade(): void {
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!this.#head.toString('latin1', 0, 12).endsWith('101')) {
      this.destroy()
      return
    }
    this.#upgraded = true
    this.#greet()
    const rest = this.#head.subarray(end + 4)
    if (rest.length > 0) this.#parser.parse(rest)
  }

  #take(packet: mqtt.Packet): void {
    if (packet.cmd === 'connack') this.#onConnected()
    else if (packet.cmd === 'puback') this.#takeAcknowledgement(packet.messageId as number)
    else if (packet.cmd === 'publish') this.#takeMessage(packet)
  }

  #takeMessage({ qos, messageId, topic, payload }: mqtt.IPublishPacket): void {
    if (qos === 1) this.#write({ cmd: 'puback', messageId: messageId as number })
    const { name } = parseTopic(topic) ?? {}
    if (name === undefined || this.#events.onMessage === undefined) return
    this.#events.onMessage(name, JSON.parse(String(payload)).body)
  }

  #takeAcknowledgement(messageId: number): void {
    const resolve = this.#unacknowledged.get(messageId)
    if (resolve !== undefined) {
      this.#unacknowledged.delete(messageId)
      resolve()
      return
    }
    this.#acknowledged++
    if (this.#acknowledged === ACKNOWLEDGED_FIRST) this.#events.ready()
    if (this.#acknowledged <= ACKNOWLEDGED_FIRST) return
    this.acknowledgedChanges++
    this.#events.onAcknowledged(performance.now() - this.#sentAt)
    this.#sentAt = 0
  }
}
