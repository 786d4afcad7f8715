import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  Aedes,
  type AedesOptions,
  type Client,
  type ConnectPacket,
  type PublishPacket,
} from 'aedes'
import mqtt from 'mqtt-packet'
import { envelope } from '../../../shared/wire/envelope.ts'
import { parseTopic, TOPICS, type TopicName, topicFor } from '../../../shared/wire/topics.ts'
import type { CellCaller } from '../enrolment/admission.ts'
import { mayPublish, maySubscribe } from './access.ts'
import { type Bus, type BusParts, CONNECT_TIMEOUT_MS, isKeepaliveAllowed } from './bus.ts'
import { isSupported } from './connack.ts'
import { type Connections, createConnections } from './connections.ts'

/**
 * Options of the embedded engine; `test/coordinator/fleet/broker/interop.test.ts` runs it with open
 * rules.
 */
export const ENGINE = {
  concurrency: 1000,
  /** A subscriber that stops reading is cut off after this. */
  drainTimeout: 3000,
  connectTimeout: CONNECT_TIMEOUT_MS,
  maxClientsIdLength: 64,
  /** The engine itself lets a client without a name keep a session, against MQTT-3.1.3-8. */
  preConnect: (_client, { clientId, clean }, done) => {
    if (clientId === '' && !clean) done(new Error('a session needs a client id'), false)
    else done(null, true)
  },
} as const satisfies AedesOptions

// its table of all two-byte numbers takes 8 MiB, and saves a small allocation for each packet
mqtt.writeToStream.cacheNumbers = false

/** Passwords of connecting clients, kept until they are checked. */
const passwords = new WeakMap<object, string>()

/**
 * The engine keeps CONNECT as long as the connection, and every part of it holds the whole piece of
 * memory into which it was read. It needs the last will alone.
 */
const takeOut = (client: Client, packet: ConnectPacket): void => {
  passwords.set(client, String(packet.password ?? ''))
  delete packet.password
  const { will } = packet
  if (will === undefined) return
  // not `Buffer.from`: that would hold a piece of the pool
  const copy = Buffer.alloc(will.payload.length)
  copy.set(Buffer.from(will.payload))
  will.payload = copy
}

/** Gives CONNECT a version that the engine refuses by itself, with the return code for it. */
const markUnsupported = (packet: ConnectPacket): void => {
  Object.assign(packet, { protocolVersion: 0 })
}

/** The cell a connection was proven to be; set before the broker sees the first byte. */
const proven = new WeakMap<object, string>()

/** Reports a refusal and returns the error that aedes sends. */
type Refuse = (client: Client | null, reason: string, details: object) => Error

/** Rules that decide which connections, publishes and subscriptions the broker accepts. */
const accessRules = (parts: BusParts, connections: Connections, refuse: Refuse): AedesOptions => ({
  preConnect: (client, packet, done) => {
    const cellId = proven.get(client.conn)
    if (packet.clientId !== cellId)
      return done(refuse(client, 'client id is not the cell', {}), false)
    takeOut(client, packet)
    // the engine itself would admit MQTT 3.1
    if (!isSupported(packet)) {
      markUnsupported(packet)
      return done(null, true)
    }
    if (!packet.clean) return done(refuse(client, 'sessions are clean', {}), false)
    const { keepalive } = packet
    if (!isKeepaliveAllowed(keepalive))
      return done(refuse(client, 'keep alive out of range', { keepalive }), false)
    const willTopic = packet.will?.topic
    if (willTopic !== undefined && willTopic !== topicFor('state', cellId))
      return done(refuse(client, 'last will on a foreign topic', { topic: willTopic }), false)
    done(null, true)
  },
  authenticate: (client, username, _password, done) => {
    const password = passwords.get(client) ?? ''
    passwords.delete(client)
    const cellId = proven.get(client.conn)
    if (username !== cellId || cellId === undefined)
      return done(
        Object.assign(refuse(client, 'user name is not the cell', {}), { returnCode: 5 }),
        false,
      )
    Promise.resolve(parts.authenticate(cellId, password)).then(
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
    // only a last will is published by a client that is closed; one set off by a takeover is no loss
    if (client.closed && connections.isOvertaken(client.conn as Duplex, client.id))
      return done(new Error('the cell has reconnected'))
    packet.retain = false
    const { name } = parseTopic(packet.topic) as { name: TopicName }
    const stored = parts.receive(name, client.id, packet.payload as Buffer)
    if (stored === undefined) return done(null)
    stored.then(
      () => confirm(client, packet, done),
      () => leaveUnconfirmed(packet, done),
    )
  },
  authorizeSubscribe: (client, subscription, done) => {
    if (maySubscribe(client.id, subscription.topic)) return done(null, subscription)
    refuse(client, 'subscribe not allowed', { topic: subscription.topic })
    done(null, null)
  },
})

type Authorized = (error: Error | null) => void

/** The engine writes PUBACK when a publish is authorized. */
const confirm = (client: Client, packet: PublishPacket, done: Authorized): void => {
  if (client.closed) leaveUnconfirmed(packet, done)
  else done(null)
}

/** Lets the engine go on without PUBACK, which a packet of QoS 0 does not get. */
const leaveUnconfirmed = (packet: PublishPacket, done: Authorized): void => {
  packet.qos = 0
  done(null)
}

const toPacket = (name: TopicName, topic: string, payload: Buffer): PublishPacket => {
  const { qos, retain } = TOPICS[name]
  return { cmd: 'publish', topic, payload, qos, retain, dup: false } as PublishPacket
}

/** A connected client, with its subscriptions by topic, which the types of the engine leave out. */
type Subscriber = Client & { subscriptions: Record<string, unknown> }

/** Connected clients by cell. */
const followSubscribers = (broker: Aedes): ReadonlyMap<string, Subscriber> => {
  const clients = new Map<string, Subscriber>()
  broker.on('client', client => clients.set(client.id, client as Subscriber))
  broker.on('clientDisconnect', client => {
    if (clients.get(client.id) === client) clients.delete(client.id)
  })
  return clients
}

/**
 * The broker in the coordinator's own process. It knows cells only: a connection is bound to one
 * cell, publishes and subscribes on that cell's topics, and nothing is retained, because the
 * registry is the truth and cells publish their birth on every connect.
 */
export const createEmbeddedBus = async (parts: BusParts): Promise<Bus> => {
  const { logger } = parts
  const connections = createConnections(parts)

  const refuse: Refuse = (client, reason, details) => {
    logger.warn({ cell: client && proven.get(client.conn), reason, ...details }, 'mqtt refused')
    return new Error(reason)
  }

  const broker = await Aedes.createBroker({
    ...ENGINE,
    connectTimeout: parts.connectTimeoutMs ?? ENGINE.connectTimeout,
    ...accessRules(parts, connections, refuse),
  })

  for (const event of ['clientError', 'connectionError'] as const)
    broker.on(event, (client, error) =>
      logger.info(
        { cell: proven.get(client.conn), reason: error.message },
        'mqtt connection failed',
      ),
    )

  const handle = (socket: Socket, cellId: string, caller?: CellCaller): void => {
    const guarded = connections.admit(socket, cellId, caller)
    proven.set(guarded, cellId)
    broker.handle(guarded)
  }

  const encode = (type: string, body: unknown): Buffer =>
    Buffer.from(JSON.stringify(envelope('coordinator', parts.epoch, type, body)))

  const publish: Bus['publish'] = (name, cellId, type, body, id) =>
    new Promise((resolve, reject) =>
      broker.publish(toPacket(name, topicFor(name, cellId, id), encode(type, body)), error =>
        error ? reject(error) : resolve(),
      ),
    )

  const subscribers = followSubscribers(broker)

  /**
   * Publishes past the queue of the engine, in which a cell that does not read holds up the others.
   */
  const publishToEach: Bus['publishToEach'] = (name, cellIds, type, body) => {
    const payload = encode(type, body)
    return cellIds.map(async cellId => {
      const [client, topic] = [subscribers.get(cellId), topicFor(name, cellId)]
      if (client?.subscriptions[topic] === undefined) return
      await new Promise<void>((resolve, reject) =>
        client.publish(toPacket(name, topic, payload), error =>
          error ? reject(error) : resolve(),
        ),
      )
    })
  }

  return {
    handle,
    publish,
    publishToEach,
    disconnect: connections.disconnect,
    isConnected: () => true,
    close: () => new Promise(resolve => broker.close(resolve)),
  }
}
