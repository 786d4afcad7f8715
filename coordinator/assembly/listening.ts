import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { OnReload } from '../../shared/reload-on-hangup.ts'
import { nextTurn, systemRuntime } from '../../shared/runtime.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { Base } from '../kernel/base/base.ts'
import { listBlockedAddresses } from '../kernel/base/blocked-addresses.ts'
import { isLoopback } from '../kernel/base/is-loopback.ts'
import { listenError } from '../kernel/base/listen-error.ts'
import type { Replicas } from '../kernel/replicas/replicas.ts'
import { keepServerIdentity } from '../kernel/tls/keep.ts'
import type { CertificateParts, ServerIdentity } from '../kernel/tls/own-certificate.ts'
import { listListeningAddresses, loadServerIdentity } from '../kernel/tls/server-identity.ts'
import type { RunningAnswers } from '../surfaces/http/running.ts'
import { openMetricsPort } from '../surfaces/metrics/metrics-port.ts'

interface ListeningParts {
  config: CoordinatorConfig
  app: FastifyInstance
}

/**
 * Listens; `url` reaches it from this machine: `http://127.0.0.1:7070`. `listensOn` is the address that
 * the socket is bound to, such as `0.0.0.0:7070`.
 */
export const listen = async ({
  config,
  app,
}: ListeningParts): Promise<{ url: string; listensOn: string }> => {
  const { host, port } = config.http
  try {
    const url = await app.listen({ host, port, backlog: 4096 })
    const bound = app.server.address() as AddressInfo
    const address = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
    return { url, listensOn: `${address}:${bound.port}` }
  } catch (cause) {
    throw listenError(cause, { host, port, key: 'http.port' })
  }
}

const ROOT = resolve(import.meta.dirname, '..', '..')

/** Says at the start that the unit lets nobody in from other machines, and how to change that. */
export const warnWhenBlocked = async ({
  config,
  logger,
}: Pick<ListeningParts, 'config'> & Pick<Base, 'logger'>): Promise<object> => {
  const { host } = config.http
  const addresses = isLoopback(host) ? [] : listListeningAddresses(host)
  const blocked = await listBlockedAddresses(addresses)
  if (blocked.length > 0)
    logger.warn(
      { blocked, drop_in: join(ROOT, 'systemd', 'remote-cells.conf') },
      'no other machine can connect: the unit blocks the addresses of this one (IPAddressDeny=any); put the drop-in into /etc/systemd/system/shoal-coordinator.service.d, run systemctl daemon-reload and restart',
    )
  return {}
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

/** Shows new connections a renewed certificate; a reload reads its files at once. */
export const keepCertificate = ({
  config,
  app,
  shown,
  secrets,
  schedules,
  logger,
  onReload,
}: ListeningParts &
  Pick<Base, 'schedules' | 'logger'> &
  Pick<CertificateParts, 'secrets'> & {
    shown: ServerIdentity | undefined
    onReload?: OnReload<CoordinatorConfig> | undefined
  }): object => {
  const identify = () => loadServerIdentity(config, secrets)
  const look = keepServerIdentity({ server: app.server, shown, identify, logger })
  schedules.every('tls.renew', LOOK_SECONDS, look)
  onReload?.([], () => void look())
  return {}
}

interface LeavingParts extends ListeningParts, Pick<Base, 'stack'> {
  running: RunningAnswers
  replicas: Pick<Replicas, 'live'>
  closeServer: () => Promise<void>
}

/**
 * The last part to open and the first to close: running answers end before anything else. Where
 * others can serve, the coordinator still serves until balancers have noticed that it leaves; else
 * it refuses new work at once.
 */
export const leaveFirst = (parts: LeavingParts): object => {
  const { config, running, replicas, stack } = parts
  stack.defer(async () => {
    running.leave()
    if (replicas.live().length > 1) await stopListening(parts)
    else running.drain()
    await Promise.race([running.waitUntilAnswered(), delay(config.http.drain_seconds * 1000)])
    running.drain()
  })
  return {}
}

const stopListening = async ({ config, closeServer }: LeavingParts): Promise<void> => {
  await delay(config.http.leave_seconds * 1000)
  // right after new connections were accepted: those that still wait would be reset
  await nextTurn(systemRuntime)
  // it resolves after the last connection; its failure is reported where that is awaited
  closeServer().catch(() => {})
}

const delay = (milliseconds: number): Promise<void> =>
  new Promise(resolve => systemRuntime.setTimeout(resolve, milliseconds).unref())
