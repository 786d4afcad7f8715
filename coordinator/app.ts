import type { Socket } from 'node:net'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { agentRoutes } from './a2a/agent-routes.ts'
import type { Registered } from './a2a/card-features.ts'
import type { CoordinatorConfig } from './config.ts'
import { askForMetrics } from './fleet/cell-metrics.ts'
import type { Fleet } from './fleet/fleet.ts'
import { answerHeaders } from './http/answer-headers.ts'
import { type AuthParts, auth } from './http/auth.ts'
import { type CellSelfParts, cellSelfRoutes } from './http/cell-self.ts'
import { type EnrolParts, enrolRoute } from './http/enrol.ts'
import { endWithError, errors, parserError, sendError, toShoalError } from './http/errors.ts'
import { type HealthParts, healthRoutes } from './http/health.ts'
import type { InferenceParts } from './http/inference.ts'
import { inferenceRoutes } from './http/inference-routes.ts'
import { measure } from './http/measure.ts'
import { metricRoutes } from './http/metric-routes.ts'
import { modelRoutes } from './http/models.ts'
import { openApiRoute } from './http/openapi-route.ts'
import { operationRoutes } from './http/operation-routes.ts'
import { collectRoutes } from './http/route-docs.ts'
import { newRequestId, safety, serverLimits } from './http/safety.ts'
import { coordinatorMetrics, type Figures } from './metrics/figures.ts'
import { metricRegistry } from './metrics/registry.ts'
import type { Views } from './operations/context.ts'
import { operations } from './operations/index.ts'
import type { Quota } from './quota/quota.ts'
import { skills } from './skills/index.ts'

/** Everything the surfaces need, as narrow views; tests give fakes. */
export interface AppParts {
  config: CoordinatorConfig
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
  keys: AuthParts['keys']
  quota: Pick<Quota, 'standing' | 'admit'>
  usage: InferenceParts['usage']
  fleet: Pick<Fleet, 'pick' | 'cells' | 'serves' | 'roundTripsMs'>
  lanes?: InferenceParts['lanes']
  running: InferenceParts['running']
  figures: Figures
  /** What `/metrics` shows; by default what is counted here, without the process. */
  registry?: Registry
  enrol: EnrolParts['enrol']
  cellSelf: CellSelfParts
  /** Certificate chain and private key, PEM; plain HTTP without. */
  tls?: { cert: string; key: string }
  views: Views
  notReady: HealthParts['notReady']
  /** Over half of the fleet was lost at once. */
  degraded?: () => boolean
}

/** Fastify's own words are of no use to an operator; failures are. */
const warningsOnly = (logger: Logger): Logger =>
  logger.isLevelEnabled('info') ? logger.child({}, { level: 'warn' }) : logger

/** What the card is derived from. There are no discovery modules, MCP tools and A2A bindings yet. */
const registered: Registered = {
  skills,
  operations,
  modules: [],
  mcpTools: 0,
  built: new Set(['cascade']),
}

/** The HTTP server with every route, not listening yet. */
export const buildApp = async (parts: AppParts): Promise<FastifyInstance> => {
  const { config, logger, now, keys, quota, usage, fleet, running, enrol, views } = parts
  const { figures } = parts
  const { catalogue, tiers, cascade } = config
  const app = Fastify({
    ...serverLimits(config),
    ...(parts.tls && { https: { cert: parts.tls.cert, key: parts.tls.key } }),
    loggerInstance: warningsOnly(logger),
    // one logger for all requests: a child of it for each costs more than most requests say
    childLoggerFactory: logger => logger,
    logController: new LogController({ disableRequestLogging: true }),
    clientErrorHandler: (error, socket) => void refuseSocket(app, error, socket as Socket),
    frameworkErrors: (error, request, reply) => void refuseRequest(app, error, request, reply),
  }) as unknown as FastifyInstance

  const routes = collectRoutes(app)
  await app.register(measure, { figures: figures.http })
  await app.register(errors, { failed: figures.http.failed })
  await app.register(answerHeaders, { quota, now, logger })
  await app.register(safety, { config })
  await app.register(auth, { keys })

  await app.register(inferenceRoutes, {
    catalogue,
    tiers,
    cascade,
    fleet,
    lanes: parts.lanes,
    affinityPrefixChars: config.routing.affinity_prefix_chars,
    quota,
    usage,
    logger,
    now,
    running,
    figures: figures.inference,
  })
  await app.register(modelRoutes, { catalogue, createdAt: Math.floor(now() / 1000) })
  await app.register(healthRoutes, {
    catalogue,
    fleet,
    notReady: parts.notReady,
    degraded: parts.degraded,
  })
  await app.register(enrolRoute, { enrol })
  await app.register(cellSelfRoutes, parts.cellSelf)
  await app.register(operationRoutes, {
    operations: [...operations, ...skills],
    views,
    quota,
    now,
  })
  const registry =
    parts.registry ?? metricRegistry(coordinatorMetrics({ ...parts, vitals: views.vitals }))
  const cellMetrics = (cellId: string, signal: AbortSignal) =>
    askForMetrics(views.fleet, cellId, signal)
  await app.register(metricRoutes, { registry, cellMetrics })
  await app.register(agentRoutes, { config, registered, vitals: views.vitals })
  await app.register(openApiRoute, { config, routes })
  return app
}

/** A request that could not be read: its answer has the same headers as any other. */
const refuseSocket = async (
  app: FastifyInstance,
  failure: NodeJS.ErrnoException,
  socket: Socket,
): Promise<void> => {
  if (failure.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const asker = { id: newRequestId(), ip: socket.remoteAddress ?? '', key: undefined }
  const { error, status } = parserError(failure)
  endWithError(socket, error, await app.answerHeaders(asker), status)
}

/** A URL that cannot be decoded never reaches a hook. */
const refuseRequest = async (
  app: FastifyInstance,
  failure: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const asker = { id: newRequestId(), ip: request.ip, key: undefined }
  sendError(reply.headers(await app.answerHeaders(asker)), toShoalError(failure))
}
