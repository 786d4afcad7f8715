import { once } from 'node:events'
import http from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { Aedes, type Client } from 'aedes'
import { pino } from 'pino'
import { createHealth } from '../../daemon/health.ts'
import { newId } from '../../shared/ids.ts'
import type { Wait } from '../../shared/wait.ts'
import { CAPABILITY } from '../../shared/wire/capability.ts'
import { type Envelope, envelope } from '../../shared/wire/envelope.ts'
import {
  HEADER_CAPABILITY,
  HEADER_LINKED,
  HEADER_REPLICA,
  LINK_PROTOCOL,
  MQTT_PROTOCOL,
} from '../../shared/wire/link.ts'
import { parseLinked } from '../../shared/wire/replicas.ts'

export const logger = pino({ level: 'silent' })
export const newHealth = () => createHealth(logger)

export const newIdentity = (url: string) => ({
  cell_id: newId('cell'),
  credential: 'secret',
  coordinator_url: url,
  epoch: 7,
})

/** Pauses that pass at once, and are written down. */
export const noWait = (pauses: number[] = []): Wait => {
  return async milliseconds => {
    pauses.push(milliseconds)
    await new Promise(resolve => setImmediate(resolve))
  }
}

interface StandInMessage {
  topic: string
  retain: boolean
  message: Envelope
}

/**
 * A coordinator as far as a cell sees it: enrolment is left to the tests that need it. Without a
 * replica id or a capability level it is one of an older version.
 */
export const standIn = async (
  replica?: string,
  { capability }: { capability?: number | undefined } = { capability: CAPABILITY },
) => {
  const broker = await Aedes.createBroker()
  const heard: StandInMessage[] = []
  const sockets = new Set<Socket>()
  const links: ClientHttp2Session[] = []
  const server = http.createServer()
  const state = {
    /** Response to every upgrade, when set. */
    refuse: undefined as
      | { status: number; body: string; headers?: http.OutgoingHttpHeaders }
      | undefined,
    /** Decides before a publish is acknowledged; false closes the connection instead. */
    accept: (_topic: string, _message: Envelope): boolean => true,
    clientIds: [] as string[],
    /** Protocol and linked ids of every upgrade request. */
    upgrades: [] as { protocol: string | undefined; linked: string | undefined }[],
  }

  broker.authorizePublish = (_client, packet, done) => {
    const message = JSON.parse(String(packet.payload))
    done(state.accept(packet.topic, message) ? null : new Error('refused'))
  }
  broker.subscribe(
    '#',
    (packet, done) => {
      if (!packet.topic.startsWith('$'))
        heard.push({
          topic: packet.topic.split('/').at(-1) ?? '',
          retain: packet.retain,
          message: JSON.parse(String(packet.payload)),
        })
      done()
    },
    () => {},
  )
  broker.on('client', (client: Client) => state.clientIds.push(client.id))

  server.on('upgrade', (request, socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    const linked = request.headers[HEADER_LINKED] as string | undefined
    state.upgrades.push({ protocol: request.headers.upgrade, linked })
    const named = replica === undefined ? '' : `${HEADER_REPLICA}: ${replica}\r\n`
    const level = capability === undefined ? '' : `${HEADER_CAPABILITY}: ${capability}\r\n`
    if (replica !== undefined && parseLinked(linked).includes(replica)) {
      const body = JSON.stringify({ error: { message: 'connected already', code: 'conflict' } })
      const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`
      socket.end(`HTTP/1.1 409 Conflict\r\n${named}${length}\r\n${body}`)
      return
    }
    if (state.refuse) {
      const { status, body, headers } = state.refuse
      const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.end(
        `HTTP/1.1 ${status} No\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
      return
    }
    const protocol = request.headers.upgrade
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${protocol}\r\nConnection: Upgrade\r\n${named}${level}\r\n`,
    )
    if (protocol === MQTT_PROTOCOL) broker.handle(socket, request)
    if (protocol === LINK_PROTOCOL)
      links.push(
        connect('http://cell', {
          createConnection: () => socket,
          peerMaxConcurrentStreams: 100_000,
        }).on('error', () => {}),
      )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    broker,
    heard,
    state,
    links,
    replica,
    /** Publishes to a cell as the coordinator. */
    tell: (topic: string, type: string, body: unknown): void => {
      const payload = JSON.stringify(envelope('coordinator', 1, type, body))
      broker.publish(
        { cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false },
        () => {},
      )
    },
    /** Number of open MQTT sessions. */
    countSessions: () => broker.connectedClients,
    /** Cuts every connection. */
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>(resolve => broker.close(() => resolve()))
      server.close()
      server.closeAllConnections()
    },
  }
}

export type StandIn = Awaited<ReturnType<typeof standIn>>

/** Waits until something is true; the test's own timeout ends a wait in vain. */
export const waitUntilTrue = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await new Promise(resolve => setImmediate(resolve))
}
