import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import type { ServerIdentity } from './own-certificate.ts'

export interface KeepParts {
  server: Server
  /** What the server shows now. */
  shown: ServerIdentity | undefined
  /** What the server should show. */
  identify: () => Promise<ServerIdentity | undefined>
  logger: Pick<Logger, 'info' | 'error'>
}

/**
 * A look that shows new connections a renewed certificate, our own or the operator's; to be called
 * again and again. It never rejects.
 */
export const keepServerIdentity = (parts: KeepParts): (() => Promise<void>) => {
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
