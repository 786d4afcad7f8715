import type { FastifyInstance } from 'fastify'
import type { Base } from '../../kernel/base/base.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import { countDescriptors, readDescriptorLimit } from '../../kernel/budgets/descriptors.ts'
import type { LimitsConfig } from '../../kernel/budgets/limits-config.ts'
import type { CoordinatorMetrics } from '../metrics/coordinator-metrics.ts'
import { acceptConnections } from './accept-connections.ts'
import { Connections } from './connections.ts'
import type { HttpConfig } from './http-config.ts'
import type { RunningAnswers } from './running.ts'
import { TrustedProxies } from './trusted-proxies.ts'

const SWEEP_SECONDS = 5
const COUNT_SECONDS = 10
/** Descriptors that must be free, for files and for the sockets of cells. */
const FREE_DESCRIPTORS = 32
/** Connections that make way when fewer are free. */
const MADE_WAY = 32

interface ConnectionParts extends Pick<Base, 'schedules' | 'logger' | 'nowMs'> {
  config: { http: HttpConfig; limits: LimitsConfig }
  app: FastifyInstance
  budgets: Pick<Budgets, 'connections' | 'reserveConnections'>
  metrics: Pick<CoordinatorMetrics, 'http'>
  running: Pick<RunningAnswers, 'follow'>
}

/** Bounds what clients hold by connections. Every request handler of the server must be there. */
export const openConnections = (parts: ConnectionParts): { connections: Connections } => {
  const { config, app, budgets, metrics, running, schedules, logger, nowMs } = parts
  const proxies = new TrustedProxies(config.http.trusted_proxies)
  const connections = new Connections({
    budget: budgets.connections,
    reserve: budgets.reserveConnections,
    proxies,
    metrics: metrics.http,
    logger,
    nowMs,
    sendTimeoutMs: config.limits.send_timeout_seconds * 1000,
    headersTimeoutMs: config.http.headers_timeout_seconds * 1000,
  })
  running.follow(app.server)
  acceptConnections(app, connections, proxies)
  schedules.every('http.sweep', SWEEP_SECONDS, () => connections.sweep())
  // a socket that cannot be accepted is dropped by libuv without a word
  schedules.every('http.descriptors', COUNT_SECONDS, async () => {
    const limit = readDescriptorLimit()
    const open = await countDescriptors()
    if (limit - open >= FREE_DESCRIPTORS) return
    logger.warn({ open, limit }, 'too few file descriptors are left; raise LimitNOFILE')
    connections.makeWay(MADE_WAY)
  })
  return { connections }
}
