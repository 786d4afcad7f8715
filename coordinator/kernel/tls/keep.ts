import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import type { ServerIdentity } from './own-certificate.ts'

interface ServerIdentityKeeper {
  server: Server
  /** The identity that the server presents now. */
  shown: ServerIdentity | undefined
  /** Returns the identity that the server should present; called on every check. */
  identify: () => Promise<ServerIdentity | undefined>
  logger: Pick<Logger, 'info' | 'error'>
}

/**
 * Returns a check that presents a renewed certificate, the coordinator's or the operator's, to new
 * connections. Call it periodically; it never rejects.
 */
export const keepServerIdentity = (parts: ServerIdentityKeeper): (() => Promise<void>) => {
  const { server, identify, logger } = parts
  if (!(server instanceof TlsServer)) return async () => {}
  let shown = parts.shown?.cert
  return async () => {
    try {
      const next = await identify()
      if (next === undefined || next.cert === shown) return
      server.setSecureContext({ cert: next.cert, key: next.key })
      shown = next.cert
      logger.info('the certificate was renewed')
    } catch (error) {
      logger.error({ err: error }, 'the certificate could not be renewed')
    }
  }
}
