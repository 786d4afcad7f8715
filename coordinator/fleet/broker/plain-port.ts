import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import mqtt, { type IConnectPacket } from 'mqtt-packet'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { stopTimer, systemRuntime } from '../../../shared/runtime.ts'
import { listenError } from '../../kernel/base/listen-error.ts'
import type { Budget } from '../../kernel/budgets/budget.ts'
import type { Bus } from './bus.ts'
import {
  connack,
  isSupported,
  NOT_AUTHORISED,
  SERVER_UNAVAILABLE,
  UNACCEPTABLE_VERSION,
} from './connack.ts'

interface PlainPortParts {
  bus: Pick<Bus, 'handle'>
  /** Checks the credential of a cell that comes from this address. */
  authenticate: (cellId: string, credential: string, address: string) => Promise<boolean> | boolean
  /** Bounds the connections that have not proven which cell they are. */
  strangers: Budget<'address'>
  isLeaving: () => boolean
  logger: Logger
  /** 0 takes a free one. */
  port: number
  connectTimeoutMs?: number
}

interface PlainPort {
  /** `mqtt://127.0.0.1:7071` */
  url: string
  close(): void
}

/** Credentials travel in the clear here. */
const HOST = '127.0.0.1'
const CONNECT_TIMEOUT_MS = 5000
const MAX_CONNECT_BYTES = 16 * 1024

/**
 * MQTT without the upgrade, on loopback, for the same broker: here the CONNECT packet proves which
 * cell it is, before the broker sees anything. Throws `address_in_use`.
 */
export const openPlainPort = async (parts: PlainPortParts): Promise<PlainPort> => {
  const strangers = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    socket.on('error', error => parts.logger.debug({ reason: error.message }, 'socket failed'))
    const address = socket.remoteAddress ?? ''
    const share = parts.strangers.open({ address }, () => socket.destroy())
    if (parts.isLeaving() || !share.take(1)) return void socket.destroy()
    strangers.add(socket)
    admit(socket, parts)
      .catch(error => {
        parts.logger.info({ reason: (error as Error).message }, 'mqtt connection refused')
        if (error instanceof ShoalError) socket.end(connack(SERVER_UNAVAILABLE))
        else socket.destroy()
      })
      .finally(() => {
        strangers.delete(socket)
        share.close()
      })
  })
  server.listen(parts.port, HOST)
  await once(server, 'listening').catch(cause => {
    throw listenError(cause, { host: HOST, port: parts.port, key: 'mqtt.port' })
  })
  const close = (): void => {
    server.close()
    for (const socket of strangers) socket.destroy()
  }
  return { url: `mqtt://${HOST}:${(server.address() as AddressInfo).port}`, close }
}

const admit = async (socket: Socket, parts: PlainPortParts): Promise<void> => {
  const { connect, bytes } = await firstPacket(socket, parts.connectTimeoutMs ?? CONNECT_TIMEOUT_MS)
  if (!isSupported(connect)) {
    socket.end(connack(UNACCEPTABLE_VERSION))
    return
  }
  const cellId = connect.username ?? ''
  const address = socket.remoteAddress ?? ''
  if (!(await parts.authenticate(cellId, String(connect.password ?? ''), address))) {
    socket.end(connack(NOT_AUTHORISED))
    // the names are not logged: a key or a credential in the wrong field must not end up there
    parts.logger.info('mqtt credential refused')
    return
  }
  if (socket.destroyed) return
  socket.unshift(bytes)
  parts.bus.handle(socket, cellId)
}

/** The CONNECT packet, and everything that was read for it. Leaves the socket paused. */
const firstPacket = (
  socket: Socket,
  timeoutMs: number,
): Promise<{ connect: IConnectPacket; bytes: Buffer }> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const parser = mqtt.parser()
    const tooLate = systemRuntime.setTimeout(
      () => reject(new Error('no CONNECT in time')),
      timeoutMs,
    )
    const settle = (callback: () => void): void => {
      stopTimer(tooLate)
      socket.off('data', onData).off('close', onClose).pause()
      callback()
    }
    const onClose = (): void => settle(() => reject(new Error('closed before CONNECT')))
    let first = true
    parser.on('error', (error: unknown) => settle(() => reject(error)))
    parser.on('packet', packet => {
      if (!first) return
      first = false
      if (packet.cmd !== 'connect') return settle(() => reject(new Error(`${packet.cmd} first`)))
      settle(() => resolve({ connect: packet, bytes: Buffer.concat(chunks) }))
    })
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk)
      size += chunk.length
      parser.parse(chunk)
      if (first && size > MAX_CONNECT_BYTES)
        settle(() => reject(new Error('no CONNECT in the first bytes')))
    }
    socket.on('data', onData).on('close', onClose)
  })
