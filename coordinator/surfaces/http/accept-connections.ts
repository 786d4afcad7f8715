import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { ShoalError } from '../../../shared/errors.ts'
import { TurnQueue } from '../../kernel/base/turn-queue.ts'
import { type Connection, connectionOf } from './connection.ts'
import type { Connections } from './connections.ts'
import { writeError } from './errors.ts'
import { putInFront, type RequestHandler } from './put-in-front.ts'
import { requestId } from './safety.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

const RETRY_AFTER_SECONDS = 10

/** Bounds the connections of the server, and passes on their requests one by one. */
export const acceptConnections = (
  app: FastifyInstance,
  connections: Connections,
  proxies: Pick<TrustedProxies, 'clientAddress'>,
): void => {
  const { server } = app
  putInFront(server, behind => {
    const turns = new TurnQueue()
    const handle = createTurnHandler(turns, behind)
    const handlers = { handle, handleReserve: createReserveHandler(app, proxies, behind) }
    followSockets(server, socket => {
      turns.giveWay()
      return connections.accept(socket, handlers)
    })
    return (request, response) => {
      const connection = connectionOf(request.socket)
      if (connection === undefined) handle(request, response)
      else if (!connection.take(request, response)) connections.cut(connection, 'pipelined')
    }
  })
}

/**
 * Handles requests without a key one by one, since anybody can send any number of them. They give
 * way to new connections, of which libuv accepts one in each turn of the event loop: a health check
 * may be behind many.
 */
const createTurnHandler =
  (turns: TurnQueue, handle: RequestHandler): RequestHandler =>
  (request, response) => {
    if (isUrgent(request)) handle(request, response)
    else
      turns.add(() => {
        const { destroyed, writableEnded } = request.socket
        if (!destroyed && !writableEnded) handle(request, response)
      })
  }

/** Answers health checks and requests with a key, one on each connection. */
const createReserveHandler =
  (
    app: FastifyInstance,
    proxies: Pick<TrustedProxies, 'clientAddress'>,
    handle: RequestHandler,
  ): RequestHandler =>
  (request, response) => {
    response.setHeader('connection', 'close')
    if (isUrgent(request)) handle(request, response)
    else
      refuse(app, proxies.clientAddress(request), request, response).catch(() => response.destroy())
  }

const isUrgent = ({ url, headers }: IncomingMessage): boolean =>
  url === '/healthz' || url === '/readyz' || headers.authorization !== undefined

const refuse = async (
  app: FastifyInstance,
  address: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const headers = await app.answerHeaders({ id: requestId(request), address, key: undefined })
  const error = new ShoalError('rate_limited', 'all connections are in use; try again later', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
  if (!response.destroyed) writeError(response, request.url ?? '/', error, headers)
}

/** Reports each accepted socket, and the encrypted one that takes its place. */
const followSockets = (
  server: Server,
  accept: (socket: Socket) => Connection | undefined,
): void => {
  if (!(server instanceof TlsServer)) {
    server.on('connection', accept)
    return
  }
  const handshakes = new Map<string, Connection>()
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket)
    const connection = accept(socket)
    if (connection === undefined) return
    handshakes.set(peer, connection)
    socket.once('close', () => handshakes.delete(peer))
  })
  server.on('secureConnection', (socket: Socket) => handshakes.get(peerOf(socket))?.secure(socket))
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
