import type { IncomingMessage, OutgoingHttpHeaders, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { CAPABILITY } from '../../../shared/wire/capability.ts'
import {
  HEADER_CAPABILITY,
  HEADER_LINKED,
  HEADER_REPLICA,
  LINK_PATH,
  LINK_PROTOCOL,
  MQTT_PATH,
  MQTT_PROTOCOL,
} from '../../../shared/wire/link.ts'
import { parseLinked } from '../../../shared/wire/replicas.ts'
import type { CellCaller } from '../../fleet/enrolment/admission.ts'
import { basicAuth, createCredentialError } from './basic-auth.ts'
import { cellCallerOf, isProbe } from './cell-caller.ts'
import { connectionOf } from './connection.ts'
import { endWithError } from './errors.ts'

interface UpgradeParts {
  logger: Logger
  /** Id of this coordinator, in every answer: behind one address a cell learns whom it has met. */
  replicaId: string
  authenticate: (
    cellId: string,
    credential: string,
    caller?: CellCaller,
  ) => Promise<boolean> | boolean
  /** Checks the Host and headers of a request; throws when they are refused. */
  check?: (request: IncomingMessage) => void
  /** Reports which start of a cell's daemon connects; throws when it must not. */
  noteConnection?: (cellId: string, bootId: string) => void
  /** Address of the client; by default that of the connection. */
  addressOf?: (request: IncomingMessage) => string
  /** Takes over the socket of a cell's control or data plane. */
  openMqtt: (socket: Socket, cellId: string, caller: CellCaller) => void
  openLink: (socket: Socket, cellId: string) => void
  isLeaving: () => boolean
  /** Headers of every answer; used for refusals. */
  answerHeaders?: (request: IncomingMessage) => OutgoingHttpHeaders | Promise<OutgoingHttpHeaders>
}

interface Plane {
  protocol: string
  open: (socket: Socket, cellId: string, caller: CellCaller) => void
}

/** A server may ignore an upgrade it does not know (RFC 9110, section 7.8): only these are ours. */
export const isUpgrade = (request: IncomingMessage): boolean =>
  request.url === MQTT_PATH || request.url === LINK_PATH

/** The two upgrades cells ask for on the one port, each with the cell's credential. */
export const acceptUpgrades = (server: Server, parts: UpgradeParts): void => {
  const planes: Record<string, Plane> = {
    [MQTT_PATH]: { protocol: MQTT_PROTOCOL, open: parts.openMqtt },
    [LINK_PATH]: { protocol: LINK_PROTOCOL, open: parts.openLink },
  }

  const { addressOf = ({ socket }) => socket.remoteAddress ?? '' } = parts

  const accept = async (request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> => {
    parts.check?.(request)
    const plane = planes[request.url ?? '']
    if (plane === undefined)
      throw new ShoalError('not_found', 'this path does not support an upgrade')
    if (request.headers.upgrade?.toLowerCase() !== plane.protocol)
      throw new ShoalError('upgrade_required', `this path upgrades to ${plane.protocol} only`)
    if (parts.isLeaving()) throw new ShoalError('draining', 'the coordinator is stopping')
    const { cellId, credential } = basicAuth(request.headers.authorization)
    const address = addressOf(request)
    const caller = isProbe(request) ? undefined : cellCallerOf(request, address)
    if (!(await parts.authenticate(cellId, credential, caller))) throw createCredentialError()
    requireNotLinked(request, parts.replicaId)
    if (socket.destroyed) return
    if (caller !== undefined) parts.noteConnection?.(cellId, caller.bootId)
    socket.write(formatSwitchingHead(plane.protocol, parts.replicaId))
    if (caller === undefined) return void socket.destroySoon()
    connectionOf(socket)?.release()
    if (head.length > 0) socket.unshift(head)
    socket.setNoDelay(true)
    socket.setTimeout(0)
    // sockets of an HTTP server stay half open, and the end of the peer would not be seen
    socket.allowHalfOpen = false
    plane.open(socket, cellId, caller)
  }

  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', error => parts.logger.debug({ reason: error.message }, 'socket failed'))
    connectionOf(socket)?.beginUpgrade()
    accept(request, socket, head).catch(async (error: unknown) => {
      if (!(error instanceof ShoalError)) parts.logger.error({ err: error }, 'upgrade failed')
      endWithError(
        socket,
        error instanceof ShoalError ? error : new ShoalError('internal', 'failed'),
        { ...(await parts.answerHeaders?.(request)), [HEADER_REPLICA]: parts.replicaId },
      )
    })
  })
}

/**
 * Throws `conflict` for a cell that reaches this coordinator again behind a shared address: a second
 * session would end the first.
 */
const requireNotLinked = ({ headers }: IncomingMessage, replicaId: string): void => {
  const linked = headers[HEADER_LINKED]
  if (typeof linked === 'string' && parseLinked(linked).includes(replicaId))
    throw new ShoalError('conflict', `the cell is connected to ${replicaId} already`)
}

const formatSwitchingHead = (protocol: string, replicaId: string): string =>
  [
    'HTTP/1.1 101 Switching Protocols',
    `Upgrade: ${protocol}`,
    'Connection: Upgrade',
    `${HEADER_REPLICA}: ${replicaId}`,
    `${HEADER_CAPABILITY}: ${CAPABILITY}`,
    '\r\n',
  ].join('\r\n')
