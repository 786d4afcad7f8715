import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { connect as connectMqtt, type IClientOptions, type MqttClient } from 'mqtt'
import { ShoalError } from '../../../shared/errors.ts'
import { stopTimer, systemRuntime } from '../../../shared/runtime.ts'
import { type CoordinatorBody, envelope } from '../../../shared/wire/envelope.ts'
import {
  parseTopic,
  TOPICS,
  type TopicName,
  topicFor,
  wildcardFor,
} from '../../../shared/wire/topics.ts'
import type { CellCaller } from '../enrolment/admission.ts'
import { type BrokerTopics, createBrokerTopics } from './broker-topics.ts'
import { type Bus, type BusParts, CONNECT_TIMEOUT_MS } from './bus.ts'
import { cellStream } from './cell-stream.ts'
import { createConnections } from './connections.ts'

const KEEPALIVE_SECONDS = 15
const RECONNECT_MS = 1000

/** MQTT 3.1.1, 3.14: the whole packet. */
const DISCONNECT = Buffer.from([0xe0, 0])

interface ExternalBroker {
  /** `mqtt://host:port`, or `mqtts://` with TLS. */
  url: URL
  /** Certificate authority of the broker, PEM, when it is not a public one. */
  ca?: Buffer
  coordinator: Login
  /** One user for all cells: the broker's rules go by client id, which is the cell's id. */
  cells: Login
}

export interface Login {
  username: string
  password: string
}

interface ExternalParts extends BusParts {
  broker: ExternalBroker
  /** Runs when the connection to the broker is established or lost. */
  onConnectionChange: (connected: boolean) => void
}

/**
 * Bus over an external broker, such as mosquitto. The coordinator is one client of it; the broker
 * keeps the session of a sole one, so that messages it acknowledged to a cell are stored there while
 * the connection is down. Cells still dial the coordinator: each of their sockets is checked packet by
 * packet and forwarded to the broker.
 */
export const createExternalBus = (parts: ExternalParts): Bus => {
  const { logger, broker, epoch } = parts
  const connections = createConnections(parts)
  const carried = new Map<string, Socket>()
  const topics = createBrokerTopics(parts.replicaId)
  const presence = (state: CoordinatorBody['state']): string =>
    JSON.stringify(envelope('coordinator', epoch, 'state', { state } satisfies CoordinatorBody))
  const client = connectMqtt(broker.url.href, clientOptions(parts, topics, presence('offline')))
  listenTo(client, parts, topics, presence('online'))

  /** Ends the cell's old connection in peace: a will that a takeover sets off is no loss. */
  const takeOver = async (cellId: string, upstream: Socket): Promise<void> => {
    const old = carried.get(cellId)
    carried.set(cellId, upstream)
    upstream.once('close', () => {
      if (carried.get(cellId) === upstream) carried.delete(cellId)
    })
    if (old === undefined || old.destroyed) return
    const closed = new Promise(resolve => old.once('close', resolve))
    old.end(DISCONNECT)
    await closed
  }

  const handle = (socket: Socket, cellId: string, caller?: CellCaller): void => {
    const guarded = connections.admit(socket, cellId, caller)
    const deadline = systemRuntime.setTimeout(
      () => guarded.destroy(),
      parts.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    )
    const upstream = dialBroker(broker)
    const down = topics.createDownStream()
    const checked = cellStream({
      cellId,
      authenticate: parts.authenticate,
      login: broker.cells,
      topics,
      answer: connack => guarded.write(connack),
      receiveFindings: payload => parts.receive('findings', cellId, payload),
      confirm: puback => down.readable && down.push(puback),
      onAdmitted: async () => {
        await takeOver(cellId, upstream)
        stopTimer(deadline)
      },
    })
    pipeline(guarded, checked, upstream, error => {
      stopTimer(deadline)
      if (error) logger.info({ cell: cellId, reason: error.message }, 'mqtt connection ended')
    })
    pipeline(upstream, down, guarded, () => guarded.destroy())
  }

  const encode = (type: string, body: unknown): string =>
    JSON.stringify(envelope('coordinator', epoch, type, body))

  const send = async (name: TopicName, cellId: string, payload: string, id?: string) => {
    if (!client.connected)
      throw new ShoalError('cell_unavailable', `${cellId} is not reached: the broker is away`)
    const { qos, retain } = TOPICS[name]
    const topic = topics.toBroker(topicFor(name, cellId, id))
    await client.publishAsync(topic, payload, { qos, retain })
  }

  /**
   * Closes without DISCONNECT, so that the broker publishes the last will: the coordinator is away.
   */
  const close = async (): Promise<void> => {
    connections.closeAll()
    await client.endAsync(true)
  }

  return {
    handle,
    publish: (name, cellId, type, body, id) => send(name, cellId, encode(type, body), id),
    publishToEach: (name, cellIds, type, body) => {
      const payload = encode(type, body)
      return cellIds.map(cellId => send(name, cellId, payload))
    },
    disconnect: connections.disconnect,
    isConnected: () => client.connected,
    close,
  }
}

/** Subscribes on every connect and passes on what cells publish. */
const listenTo = (
  client: MqttClient,
  { logger, onConnectionChange, receive }: ExternalParts,
  topics: BrokerTopics,
  online: string,
): void => {
  const greet = async (): Promise<void> => {
    await client.subscribeAsync(listUpTopics().map(topics.toBroker), { qos: 1 })
    await client.publishAsync(topics.toBroker(topicFor('coordinator', '')), online, COORDINATOR)
    onConnectionChange(true)
  }
  client.on('connect', () => {
    greet().catch(error => logger.warn({ reason: error.message }, 'broker refused'))
  })
  client.on('offline', () => onConnectionChange(false))
  client.on('error', error => logger.warn({ reason: error.message }, 'broker failed'))
  client.on('message', (topic, payload, { retain }) => {
    // retained messages are outdated, and any client with the broker's password can plant one
    if (retain) return
    const parsed = parseTopic(topics.toCell(topic))
    if (parsed?.cellId === undefined || TOPICS[parsed.name].direction !== 'up') return
    receive(parsed.name, parsed.cellId, payload)
  })
}

const COORDINATOR = { qos: TOPICS.coordinator.qos, retain: TOPICS.coordinator.retain }

const listUpTopics = (): string[] =>
  (Object.keys(TOPICS) as TopicName[])
    .filter(name => TOPICS[name].direction === 'up')
    .map(wildcardFor)

/**
 * One coordinator has a session that outlives it. Of several, each has its own for as long as it
 * lives: what one of them misses, the others hear.
 */
const clientOptions = (
  { broker: { ca, coordinator }, replicaId }: ExternalParts,
  topics: BrokerTopics,
  lastWill: string,
): IClientOptions => ({
  clientId: replicaId === undefined ? 'shoal-coordinator' : `shoal-coordinator-${replicaId}`,
  ...coordinator,
  ...(ca && { ca }),
  protocolVersion: 4,
  clean: replicaId !== undefined,
  resubscribe: false,
  keepalive: KEEPALIVE_SECONDS,
  connectTimeout: CONNECT_TIMEOUT_MS,
  reconnectPeriod: RECONNECT_MS,
  queueQoSZero: false,
  will: {
    topic: topics.toBroker(topicFor('coordinator', '')),
    payload: Buffer.from(lastWill),
    ...COORDINATOR,
  },
})

const dialBroker = ({ url, ca }: ExternalBroker): Socket => {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'mqtts:'
  const port = Number(url.port) || (secure ? 8883 : 1883)
  const socket = secure
    ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...(ca && { ca }) })
    : connectTcp({ host, port })
  socket.setNoDelay(true)
  return socket
}
