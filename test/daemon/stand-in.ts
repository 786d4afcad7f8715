import { once } from 'node:events'
import http from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { Aedes, type Client } from 'aedes'
import { pino } from 'pino'
import { createHealth } from '../../daemon/health.ts'
import { newId } from '../../shared/ids.ts'
import type { Wait } from '../../shared/wait.ts'
import type { Envelope } from '../../shared/wire/envelope.ts'
import { LINK_PROTOCOL, MQTT_PROTOCOL } from '../../shared/wire/link.ts'

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

export interface StandInMessage {
  topic: string
  retain: boolean
  message: Envelope
}

/** As much of a coordinator as a cell sees: enrolment is left to the tests that need it. */
export const standIn = async () => {
  const broker = await Aedes.createBroker()
  const heard: StandInMessage[] = []
  const sockets = new Set<Socket>()
  const links: ClientHttp2Session[] = []
  const server = http.createServer()
  const state = {
    /** When set, answers every upgrade with it. */
    refuse: undefined as
      | { status: number; body: string; headers?: http.OutgoingHttpHeaders }
      | undefined,
    /** Asked before a publish is acknowledged; false closes the connection instead. */
    accept: (_topic: string, _message: Envelope): boolean => true,
    clientIds: [] as string[],
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
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${protocol}\r\nConnection: Upgrade\r\n\r\n`,
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
