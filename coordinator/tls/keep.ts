import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import type { ServerIdentity } from './own-certificate.ts'

export interface KeepParts {
  server: Server
  /** What the server shows now. */
  shown: ServerIdentity | undefined
  /** What it should show; asked again and again. */
  identify: () => Promise<ServerIdentity | undefined>
  logger: Pick<Logger, 'info' | 'error'>
  /** Calls again and again; returns how to stop. */
  repeat?: (call: () => void) => () => void
}

const LOOK_EVERY_MS = 12 * 3_600_000

const twiceADay = (call: () => void): (() => void) => {
  const timer = setInterval(call, LOOK_EVERY_MS)
  return () => clearInterval(timer)
}

/** Shows new connections a renewed certificate, our own or the operator's. Returns how to stop. */
export const keepServerIdentity = (parts: KeepParts): (() => void) => {
  const { server, identify, logger, repeat = twiceADay } = parts
  if (!(server instanceof TlsServer)) return () => {}
  let shown = parts.shown?.cert
  const look = async (): Promise<void> => {
    const next = await identify()
    if (next === undefined || next.cert === shown) return
    server.setSecureContext({ cert: next.cert, key: next.key })
    shown = next.cert
    logger.info('the certificate was renewed')
  }
  return repeat(() => {
    look().catch(error => logger.error({ err: error }, 'the certificate could not be renewed'))
  })
}
