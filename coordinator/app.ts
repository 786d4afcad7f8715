import { readFileSync } from 'node:fs'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { CoordinatorConfig } from './config.ts'
import type { Fleet } from './fleet/fleet.ts'
import { answerHeaders } from './http/answer-headers.ts'
import { type AuthParts, auth } from './http/auth.ts'
import { type EnrolParts, enrolRoute } from './http/enrol.ts'
import { clientErrorHandler, errors } from './http/errors.ts'
import { healthRoutes } from './http/health.ts'
import type { InferenceParts } from './http/inference.ts'
import { inferenceRoutes } from './http/inference-routes.ts'
import { modelRoutes } from './http/models.ts'
import { operationRoutes } from './http/operation-routes.ts'
import { safety, serverLimits } from './http/safety.ts'
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
  running: InferenceParts['running']
  enrol: EnrolParts['enrol']
  views: Views
  notReady: () => string | undefined
}

const tls = ({ http }: CoordinatorConfig) =>
  http.tls_cert_file === undefined || http.tls_key_file === undefined
    ? {}
    : { https: { cert: readFileSync(http.tls_cert_file), key: readFileSync(http.tls_key_file) } }

/** Fastify's own words are of no use to an operator; failures are. */
const warningsOnly = (logger: Logger): Logger =>
  logger.isLevelEnabled('info') ? logger.child({}, { level: 'warn' }) : logger

/** The HTTP server with every route, not listening yet. */
export const buildApp = async (parts: AppParts): Promise<FastifyInstance> => {
  const { config, logger, now, keys, quota, usage, fleet, running, enrol, notReady, views } = parts
  const { catalogue, tiers } = config
  const app = Fastify({
    ...serverLimits(config),
    ...tls(config),
    loggerInstance: warningsOnly(logger),
    logController: new LogController({ disableRequestLogging: true }),
    clientErrorHandler,
  }) as unknown as FastifyInstance

  await app.register(errors)
  await app.register(answerHeaders, { quota, now })
  await app.register(safety, { config })
  await app.register(auth, { keys })

  await app.register(inferenceRoutes, {
    catalogue,
    tiers,
    fleet,
    quota,
    usage,
    logger,
    now,
    running,
  })
  await app.register(modelRoutes, { catalogue, createdAt: Math.floor(now() / 1000) })
  await app.register(healthRoutes, { catalogue, fleet, notReady })
  await app.register(enrolRoute, { enrol })
  await app.register(operationRoutes, { operations: [...operations, ...skills], views })
  return app
}
