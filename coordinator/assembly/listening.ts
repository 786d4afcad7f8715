import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Base } from '../base/base.ts'
import { listenError } from '../base/listen-error.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { InFlightAnswers } from '../http/running.ts'
import { openMetricsPort } from '../metrics/metrics-port.ts'
import { keepServerIdentity } from '../tls/keep.ts'
import type { CertificateParts, ServerIdentity } from '../tls/own-certificate.ts'
import { loadServerIdentity } from '../tls/server-identity.ts'

interface ListeningParts {
  config: CoordinatorConfig
  app: FastifyInstance
}

/** Listens; `url` says where: `http://127.0.0.1:7070`. */
export const listen = async ({ config, app }: ListeningParts): Promise<{ url: string }> => {
  const { host, port } = config.http
  try {
    return { url: await app.listen({ host, port, backlog: 4096 }) }
  } catch (cause) {
    throw listenError(cause, { host, port, key: 'http.port' })
  }
}

/** The port for scrapers on this machine, where it is wanted. */
export const openScrapePort = async ({
  config,
  registry,
  stack,
}: Pick<ListeningParts, 'config'> &
  Pick<Base, 'stack'> & { registry: Registry }): Promise<object> => {
  const port = await openMetricsPort(config.metrics.loopback_port, registry)
  stack.defer(() => port?.close())
  return {}
}

const LOOK_SECONDS = 12 * 3600

/** Shows new connections a renewed certificate. */
export const keepCertificate = ({
  config,
  app,
  shown,
  secrets,
  schedules,
  logger,
}: ListeningParts &
  Pick<Base, 'schedules' | 'logger'> &
  Pick<CertificateParts, 'secrets'> & { shown: ServerIdentity | undefined }): object => {
  const identify = () => loadServerIdentity(config, secrets)
  const look = keepServerIdentity({ server: app.server, shown, identify, logger })
  schedules.every('tls.renew', LOOK_SECONDS, look)
  return {}
}

/** The last part to open and the first to close: running answers end before anything else. */
export const drainFirst = ({
  config,
  running,
  stack,
}: Pick<ListeningParts, 'config'> & Pick<Base, 'stack'> & { running: InFlightAnswers }): object => {
  stack.defer(() => Promise.race([running.drain(), delay(config.http.drain_seconds * 1000)]))
  return {}
}

const delay = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds).unref())
