import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Registry } from 'prom-client'
import { closeWithLinger } from '../../../shared/lingering-close.ts'
import { isLoopback } from '../../kernel/base/is-loopback.ts'
import { listenError } from '../../kernel/base/listen-error.ts'

const HOST = '127.0.0.1'

interface MetricsPort {
  close(): void
}

/**
 * `/metrics` without a key, for a scraper on this machine. It is a port of its own, because behind a
 * proxy on this machine every request to the main one comes from loopback. Undefined for port 0.
 */
export const openMetricsPort = async (
  port: number,
  registry: Pick<Registry, 'metrics' | 'contentType'>,
): Promise<MetricsPort | undefined> => {
  if (port === 0) return undefined
  const server = metricsServer(registry)
  server.listen(port, HOST)
  await once(server, 'listening').catch(cause => {
    throw listenError(cause, { host: HOST, port, key: 'metrics.loopback_port' })
  })
  return {
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The server of that port, not listening yet. */
export const metricsServer = (registry: Pick<Registry, 'metrics' | 'contentType'>): Server => {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 10_000 })
  server.maxConnections = 16
  closeWithLinger(server)
  server.on('request', (request, response) => {
    const status = statusOf(request)
    if (status !== 200) return end(response, status, '')
    registry.metrics().then(
      text => end(response.setHeader('content-type', registry.contentType), 200, text),
      () => end(response, 500, ''),
    )
  })
  return server
}

/** No page of another origin, and no name that was made to point here, may read it. */
const statusOf = ({ method, url, headers }: IncomingMessage): number => {
  const name = (headers.host ?? '').replace(/:\d+$/, '')
  if (!isLoopback(name) || headers.origin !== undefined) return 403
  if (url?.split('?', 1)[0] !== '/metrics') return 404
  return method === 'GET' ? 200 : 405
}

const end = (response: ServerResponse, status: number, text: string): void => {
  response.statusCode = status
  response.end(text)
}
