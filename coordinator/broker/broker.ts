import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Aedes, type AedesPublishPacket, type Client, type PublishPacket } from 'aedes'
import type { Logger } from 'pino'
import { envelope } from '../../shared/wire/envelope.ts'
import {
  MAX_PACKET_BYTES,
  parseTopic,
  TOPICS,
  type TopicName,
  topicFor,
  wildcardFor,
} from '../../shared/wire/topics.ts'
import { mayPublish, maySubscribe } from './access.ts'
import type { Bus, BusParts } from './bus.ts'
import { guardSocket, type Violation } from './guard.ts'

/** About 500 samples a second from one cell before it is slowed down. */
const GUARD = {
  maxPacketBytes: MAX_PACKET_BYTES,
  bytesPerSecond: 1024 * 1024,
  burstBytes: 2 * 1024 * 1024,
}

export interface EmbeddedParts extends BusParts {
  logger: Logger
  nowMs: () => number
  /** Checks a cell's credential; a socket from an upgrade was checked already. */
  authenticate: (cellId: string, credential: string) => Promise<boolean> | boolean
}

export interface EmbeddedBus extends Bus {
  /** Takes over a socket whose upgrade proved that it belongs to this cell. */
  handle(socket: Socket, cellId: string): void
  /** Closes every connection of one cell. */
  disconnect(cellId: string): void
}

/** The cell a connection was proven to be; set before the broker sees the first byte. */
const proven = new WeakMap<object, string>()

/**
 * The broker in the coordinator's own process. It knows cells only: a connection is bound to one
 * cell, publishes and subscribes on that cell's topics, and nothing is retained, because the
 * registry is the truth and cells publish their birth on every connect.
 */
export const createEmbeddedBus = async (parts: EmbeddedParts): Promise<EmbeddedBus> => {
  const { logger, nowMs, seen, receive } = parts
  const connections = new Map<string, Set<Duplex>>()

  const refuse = (client: Client | null, reason: string, details: object): Error => {
    logger.warn({ cell: client && proven.get(client.conn), reason, ...details }, 'mqtt refused')
    return new Error(reason)
  }

  const broker = await Aedes.createBroker({
    concurrency: 1000,
    drainTimeout: 3000,
    connectTimeout: 5000,
    keepaliveLimit: 60,
    maxClientsIdLength: 64,
    preConnect: (client, packet, done) => {
      const cellId = proven.get(client.conn)
      if (packet.clientId !== cellId)
        return done(refuse(client, 'client id is not the cell', { id: packet.clientId }), false)
      const willTopic = packet.will?.topic
      if (willTopic !== undefined && willTopic !== topicFor('state', cellId))
        return done(refuse(client, 'last will on a foreign topic', { topic: willTopic }), false)
      done(null, true)
    },
    authenticate: (client, username, password, done) => {
      const cellId = proven.get(client.conn)
      if (username !== cellId || cellId === undefined)
        return done(
          Object.assign(refuse(client, 'user name is not the cell', {}), { returnCode: 5 }),
          false,
        )
      Promise.resolve(parts.authenticate(cellId, String(password ?? ''))).then(
        valid => done(null, valid),
        () => done(null, false),
      )
    },
    authorizePublish: (client, packet, done) => {
      if (client === null) return done(null)
      if (!mayPublish(client.id, packet)) {
        client.close()
        return done(refuse(client, 'publish not allowed', { topic: packet.topic }))
      }
      packet.retain = false
      done(null)
    },
    authorizeSubscribe: (client, subscription, done) => {
      if (maySubscribe(client.id, subscription.topic)) return done(null, subscription)
      refuse(client, 'subscribe not allowed', { topic: subscription.topic })
      done(null, null)
    },
  })

  for (const event of ['clientError', 'connectionError'] as const)
    broker.on(event, (client, error) =>
      logger.info(
        { cell: proven.get(client.conn), reason: error.message },
        'mqtt connection failed',
      ),
    )

  const deliver = (packet: AedesPublishPacket, done: () => void): void => {
    const parsed = parseTopic(packet.topic)
    if (parsed?.cellId !== undefined) receive(parsed.name, parsed.cellId, packet.payload as Buffer)
    done()
  }
  for (const name of Object.keys(TOPICS) as TopicName[])
    if (TOPICS[name].direction === 'up')
      await new Promise<void>(done => broker.subscribe(wildcardFor(name), deliver, done))

  const handle = (socket: Socket, cellId: string): void => {
    const guarded = guardSocket(socket, {
      ...GUARD,
      nowMs,
      seen: () => seen(cellId),
      violated: (violation: Violation) => logger.warn({ cell: cellId, violation }, 'mqtt cut off'),
    })
    proven.set(guarded, cellId)
    const own = connections.get(cellId) ?? new Set()
    connections.set(cellId, own.add(guarded))
    guarded.once('close', () => {
      own.delete(guarded)
      if (own.size === 0) connections.delete(cellId)
    })
    broker.handle(guarded)
  }

  const publish = (name: TopicName, cellId: string, type: string, body: unknown): Promise<void> => {
    const { qos, retain } = TOPICS[name]
    const payload = JSON.stringify(envelope('coordinator', parts.epoch, type, body))
    const packet = {
      cmd: 'publish',
      topic: topicFor(name, cellId),
      payload,
      qos,
      retain,
      dup: false,
    }
    return new Promise((resolve, reject) =>
      broker.publish(packet as PublishPacket, error => (error ? reject(error) : resolve())),
    )
  }

  return {
    handle,
    publish,
    disconnect: cellId => {
      for (const connection of connections.get(cellId) ?? []) connection.destroy()
    },
    close: () => new Promise(resolve => broker.close(resolve)),
  }
}
