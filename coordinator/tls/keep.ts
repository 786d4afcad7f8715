import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import type { ServerIdentity } from './own-certificate.ts'

export interface ServerIdentityKeeper {
  server: Server
  /** The identity that the server presents now. */
  shown: ServerIdentity | undefined
  /** Returns the identity that the server should present; called on every check. */
  identify: () => Promise<ServerIdentity | undefined>
  logger: Pick<Logger, 'info' | 'error'>
  /** Schedules the check; returns a function that stops it. Twice a day by default. */
  repeat?: (check: () => void) => () => void
}

const CHECK_EVERY_MS = 12 * 3_600_000

const repeatTwiceADay = (check: () => void): (() => void) => {
  const timer = setInterval(check, CHECK_EVERY_MS)
  return () => clearInterval(timer)
}

/**
 * Presents a renewed certificate, the coordinator's or the operator's, to new connections. Returns a
 * function that stops the checks.
 */
export const keepServerIdentity = (parts: ServerIdentityKeeper): (() => void) => {
  const { server, identify, logger, repeat = repeatTwiceADay } = parts
  if (!(server instanceof TlsServer)) return () => {}
  let shown = parts.shown?.cert
  const check = async (): Promise<void> => {
    const next = await identify()
    if (next === undefined || next.cert === shown) return
    server.setSecureContext({ cert: next.cert, key: next.key })
    shown = next.cert
    logger.info('the certificate was renewed')
  }
  return repeat(() => {
    check().catch(error => logger.error({ err: error }, 'the certificate could not be renewed'))
  })
}
