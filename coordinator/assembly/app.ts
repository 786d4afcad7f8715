import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import type { Catalogue } from '../../shared/catalogue.ts'
import { closeWithLinger } from '../../shared/lingering-close.ts'
import { type A2aParts, a2aRoutes } from '../a2a/a2a-routes.ts'
import { agentCard } from '../a2a/agent-card.ts'
import { agentRoutes, cardParts, portOf } from '../a2a/agent-routes.ts'
import type { CardFacts, Part } from '../a2a/card-features.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { CoordinatorConfig } from '../config.ts'
import { cascadeSteps } from '../fleet/cascade-steps.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { ModelFactsMemory } from '../fleet/model-facts-memory.ts'
import type { Router } from '../fleet/router.ts'
import { AnonymousLimit } from '../http/anonymous-limit.ts'
import { answerHeaders } from '../http/answer-headers.ts'
import { type AuthParts, auth } from '../http/auth.ts'
import { type CellSelfParts, cellSelfRoutes } from '../http/cell-self.ts'
import { CorsPolicy, preflight } from '../http/cors.ts'
import { countBodies } from '../http/count-bodies.ts'
import { decodeBodies } from '../http/decode-bodies.ts'
import { DirectRouter } from '../http/direct-router.ts'
import { type EnrolParts, enrolRoute } from '../http/enrol.ts'
import { errors, missingRoutes } from '../http/errors.ts'
import { type EventParts, eventRoutes } from '../http/event-routes.ts'
import { type HealthParts, healthRoutes } from '../http/health.ts'
import { homeRoute } from '../http/home-route.ts'
import type { InferenceParts } from '../http/inference.ts'
import { inferenceRoutes } from '../http/inference-routes.ts'
import { createInvalidKeyLog } from '../http/invalid-keys.ts'
import { measure } from '../http/measure.ts'
import { metricRoutes } from '../http/metric-routes.ts'
import { modelRoutes } from '../http/models.ts'
import { ollamaAnswerRoutes } from '../http/ollama/answer-routes.ts'
import { ollamaModelRoutes } from '../http/ollama/model-routes.ts'
import { createServer } from '../http/open.ts'
import { openApiRoute } from '../http/openapi-route.ts'
import { operationRoutes } from '../http/operation-routes.ts'
import { collectRoutes } from '../http/route-docs.ts'
import { allowedHosts, safety } from '../http/safety.ts'
import { storedResponseRoutes } from '../http/stored-response-routes.ts'
import type { Keys } from '../keys/keys.ts'
import { mcpRoutes } from '../mcp/mcp-routes.ts'
import { coordinatorMetrics, type Figures } from '../metrics/figures.ts'
import { metricRegistry } from '../metrics/registry.ts'
import type { Views } from '../operations/context.ts'
import { isTool } from '../operations/declaration.ts'
import { operations } from '../operations/index.ts'
import type { Pipeline } from '../operations/invoke/invoke.ts'
import { taskReaders } from '../operations/task-readers.ts'
import type { Quota } from '../quota/quota.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { StoredResponses } from '../responses/stored-responses.ts'
import { skills } from '../skills/index.ts'
import type { Skill } from '../skills/skill.ts'

/** Everything the surfaces need, as narrow views; tests give fakes. */
export interface AppParts {
  config: CoordinatorConfig
  /** Models that clients may name; those of the configuration by default. */
  catalogue?: Catalogue
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
  keys: AuthParts['keys'] & Partial<Pick<Keys, 'hold'>>
  quota: Pick<Quota, 'standing' | 'admit'>
  usage: InferenceParts['usage']
  fleet: Pick<Fleet, 'pick' | 'cells' | 'serves' | 'roundTripsMs'>
  lanes?: InferenceParts['lanes']
  answerMemory: InferenceParts['answerMemory']
  running: InferenceParts['running']
  /** Responses that clients asked to keep; without it none is kept. */
  storedResponses?: StoredResponses | undefined
  figures: Figures
  budgets: Budgets
  /** Metrics that `/metrics` shows; by default those of this app, without the process. */
  registry?: Registry
  enrol: EnrolParts['enrol']
  replicas?: Pick<Replicas, 'id' | 'live'> | undefined
  cellSelf: CellSelfParts
  /** Certificate chain and private key, PEM; plain HTTP without. */
  shown?: { cert: string; key: string } | undefined
  views: Views
  pipeline: Pipeline
  events: EventParts['events']
  /** Tasks and the parts built on them; without it there are no A2A bindings. */
  a2a?: A2aParts
  /** Additional skills, for tests. */
  moreSkills?: readonly Skill[]
  findReadinessFault: HealthParts['findReadinessFault']
  /** True when over half of the fleet was lost at once. */
  isDegraded?: () => boolean
}

const A2A_PARTS = ['a2a-bindings', 'a2a-streaming', 'a2a-push', 'a2a-history'] as const

/** Parts from which the card is derived. */
const collectRegistered = ({
  a2a,
  lanes,
  config,
  catalogue = config.catalogue,
  views,
  moreSkills = [],
}: AppParts): CardFacts => ({
  skills: [...skills, ...moreSkills],
  operations,
  modules: DISCOVERY_MODULES,
  built: new Set<Part>([
    // without a chat model there is nothing that `auto` could choose
    ...(cascadeSteps(catalogue, config.cascade).length > 0 ? ['cascade' as const] : []),
    // it is the lanes that lay trails
    ...(lanes === undefined ? [] : ['pheromone-trails' as const]),
    // the graphs of tenants strengthen what is activated together
    ...(views.knowledge === undefined ? [] : ['hebbian-learning' as const]),
    ...(a2a === undefined ? [] : A2A_PARTS),
  ]),
})

/** The HTTP server with every route, not listening yet. */
export const buildApp = async (parts: AppParts): Promise<FastifyInstance> => {
  const app = createServer(parts)
  await addRoutes(app, parts)
  return app
}

const addInferenceRoutes = (
  app: FastifyInstance,
  straight: DirectRouter,
  parts: AppParts,
): void => {
  const { config, logger, now, keys, quota, usage, fleet, lanes, running, figures } = parts
  const inference: InferenceParts = {
    answerHeaders: app.answerHeaders,
    catalogue: parts.catalogue ?? config.catalogue,
    tiers: config.tiers,
    cascade: config.cascade,
    fleet,
    lanes,
    affinityPrefixChars: config.routing.affinity_prefix_chars,
    quota,
    answerMemory: parts.answerMemory,
    usage,
    logger,
    now,
    running,
    figures: figures.inference,
    onError: figures.http.countError,
    hold: keys.hold?.bind(keys),
  }
  const { storedResponses: responses } = parts
  inferenceRoutes(straight, { ...inference, ...(responses && { responses }) })
  ollamaAnswerRoutes(straight, inference)
}

export const addRoutes = async (app: FastifyInstance, parts: AppParts): Promise<void> => {
  const { config, logger, now, keys, quota, fleet, running, enrol, views, pipeline } = parts
  const { figures, catalogue = config.catalogue } = parts
  const routes = collectRoutes(app)
  const cors = new CorsPolicy(config.http.cors_origins)
  const anonymous = new AnonymousLimit(config.limits.anonymous_per_minute)
  const authParts = { keys, anonymous, onInvalidKey: createInvalidKeyLog(logger) }
  const straight = new DirectRouter(app, {
    ...authParts,
    config,
    figures: figures.http,
    bodies: parts.budgets.requestBodies,
    logger,
  })
  await app.register(measure, { figures: figures.http })
  await app.register(errors, { onError: figures.http.countError })
  await app.register(answerHeaders, { quota, now, logger, replicas: parts.replicas, cors })
  await app.register(safety, { config })
  await app.register(preflight, { cors })
  await app.register(auth, authParts)
  await app.register(countBodies, { budget: parts.budgets.requestBodies })
  await app.register(decodeBodies)
  await app.register(missingRoutes)

  addInferenceRoutes(app, straight, parts)
  const createdAt = Math.floor(now() / 1000)
  const mayUse: Router['mayUse'] = (...asked) => views.routing.router.mayUse(...asked)
  await app.register(modelRoutes, { catalogue, createdAt, fleet, mayUse })
  const { storedResponses: responses } = parts
  if (responses) await app.register(storedResponseRoutes, { responses })
  const modelFacts = new ModelFactsMemory({ fleet, mayUse, nowMs: () => performance.now() })
  await app.register(ollamaModelRoutes, { catalogue, createdAt, fleet, mayUse, modelFacts })
  const { isDegraded, findReadinessFault } = parts
  await app.register(healthRoutes, { catalogue, fleet, findReadinessFault, isDegraded })
  await app.register(homeRoute, { config, catalogue, fleet, isDegraded })
  await app.register(enrolRoute, { enrol, replicas: parts.replicas })
  await app.register(cellSelfRoutes, { ...parts.cellSelf, anonymous })
  const registered = collectRegistered(parts)
  await app.register(operationRoutes, {
    operations: [...operations, ...registered.skills],
    invoke: pipeline.invoke,
    uploadFolder: config.state_dir,
  })
  await app.register(eventRoutes, {
    config: config.events,
    source: `/shoal/${config.name}`,
    events: parts.events,
    keys,
    count: pipeline.count,
    readerOf: parts.a2a?.readerOf ?? taskReaders([...operations, ...registered.skills]),
    figures: figures.events,
    isDraining: running.isDraining,
    now,
  })
  const registry =
    parts.registry ??
    metricRegistry(coordinatorMetrics({ ...parts, vitals: views.vitals, replicas: views.replicas }))
  await app.register(metricRoutes, { registry, authorize: pipeline.authorize })
  await app.register(mcpRoutes, {
    operations: [...registered.skills, ...operations].filter(isTool),
    pipeline,
    events: parts.events,
    stallMs: config.events.stall_seconds * 1000,
    logger,
    hosts: allowedHosts(config),
    cors,
    portal: config.public.portal_url,
    card: () => agentCard(cardParts(config, registered, portOf(app, config))),
    hold: keys.hold?.bind(keys),
  })
  await app.register(agentRoutes, { config, registered, vitals: views.vitals, now })
  if (parts.a2a !== undefined)
    await app.register(a2aRoutes, {
      ...parts.a2a,
      config,
      registered,
      logger,
      count: pipeline.count,
      onError: figures.http.countError,
      hold: keys.hold?.bind(keys),
    })
  await app.register(openApiRoute, { config, routes })
  straight.stepInFront(app.server)
  closeWithLinger(app.server)
}
