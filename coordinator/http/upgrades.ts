import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { LINK_PATH, LINK_PROTOCOL, MQTT_PATH, MQTT_PROTOCOL } from '../../shared/wire/link.ts'
import { endWithError } from './errors.ts'

export interface UpgradeParts {
  logger: Logger
  authenticate: (cellId: string, credential: string) => Promise<boolean> | boolean
  /** Takes over the socket of a cell's control or data plane. */
  openMqtt: (socket: Socket, cellId: string) => void
  openLink: (socket: Socket, cellId: string) => void
  draining: () => boolean
}

interface Plane {
  protocol: string
  open: (socket: Socket, cellId: string) => void
}

/** The two upgrades cells ask for on the one port, each with the cell's credential. */
export const acceptUpgrades = (server: Server, parts: UpgradeParts): void => {
  const planes: Record<string, Plane> = {
    [MQTT_PATH]: { protocol: MQTT_PROTOCOL, open: parts.openMqtt },
    [LINK_PATH]: { protocol: LINK_PROTOCOL, open: parts.openLink },
  }

  const accept = async (request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> => {
    const plane = planes[request.url ?? '']
    if (plane === undefined) throw new ShoalError('not_found', 'no upgrade is offered here')
    if (request.headers.upgrade?.toLowerCase() !== plane.protocol)
      throw new ShoalError('upgrade_required', `upgrade to ${plane.protocol} here`)
    if (parts.draining()) throw new ShoalError('draining', 'the coordinator is stopping')
    const { cellId, credential } = basicAuth(request.headers.authorization)
    if (!(await parts.authenticate(cellId, credential)))
      throw new ShoalError('auth_required', 'the credential of the cell is not valid')
    if (socket.destroyed) return
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${plane.protocol}\r\nConnection: Upgrade\r\n\r\n`,
    )
    if (head.length > 0) socket.unshift(head)
    socket.setNoDelay(true)
    socket.setTimeout(0)
    // sockets of an HTTP server stay half open, and the end of the peer would not be seen
    socket.allowHalfOpen = false
    plane.open(socket, cellId)
  }

  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', error => parts.logger.debug({ reason: error.message }, 'socket failed'))
    accept(request, socket, head).catch((error: unknown) => {
      if (!(error instanceof ShoalError)) parts.logger.error({ err: error }, 'upgrade failed')
      endWithError(
        socket,
        error instanceof ShoalError ? error : new ShoalError('internal', 'failed'),
      )
    })
  })
}

const basicAuth = (header: string | undefined): { cellId: string; credential: string } => {
  const encoded = /^Basic +([A-Za-z0-9+/=]{1,512})$/i.exec(header ?? '')?.[1]
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 0) throw new ShoalError('auth_required', 'send the cell id and its credential')
  return { cellId: text.slice(0, colon), credential: text.slice(colon + 1) }
}
