import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import type { Catalogue } from '../../shared/catalogue.ts'
import { closeWithLinger } from '../../shared/lingering-close.ts'
import type { Runtime } from '../../shared/runtime.ts'
import type { Keys } from '../access/keys/keys.ts'
import type { Quota } from '../access/quota/quota.ts'
import type { Pipeline } from '../calls/invoke/invoke.ts'
import { taskReaders } from '../calls/tasks/task-readers.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { Fleet } from '../fleet/cells/fleet.ts'
import type { FleetViews } from '../fleet/cells/open.ts'
import type { ReplicaViews } from '../fleet/cells/replica-states.ts'
import { ModelFactsMemory } from '../fleet/questions/model-facts-memory.ts'
import type { Router } from '../fleet/routing/router.ts'
import { cascadeSteps } from '../gateway/cascade/cascade-steps.ts'
import type { StoredResponses } from '../gateway/responses/stored-responses.ts'
import type { KnowledgeViews } from '../insight/knowledge/open.ts'
import type { VitalViews } from '../kernel/base/vitals.ts'
import type { Budgets } from '../kernel/budgets/budgets.ts'
import { isTool } from '../kernel/declaration/declaration.ts'
import type { Skill } from '../kernel/declaration/skill.ts'
import type { Replicas } from '../kernel/replicas/replicas.ts'
import { type A2aParts, a2aRoutes } from '../surfaces/a2a/a2a-routes.ts'
import { agentCard } from '../surfaces/a2a/agent-card.ts'
import { agentRoutes, cardParts, portOf } from '../surfaces/a2a/agent-routes.ts'
import type { CardFacts, Part } from '../surfaces/a2a/card-features.ts'
import { operations } from '../surfaces/catalogue/operations.ts'
import { skills } from '../surfaces/catalogue/skills.ts'
import { AnonymousLimit } from '../surfaces/http/anonymous-limit.ts'
import { answerHeaders } from '../surfaces/http/answer-headers.ts'
import { type AuthParts, auth } from '../surfaces/http/auth.ts'
import { type CellSelfParts, cellSelfRoutes } from '../surfaces/http/cell-self.ts'
import { CorsPolicy, preflight } from '../surfaces/http/cors.ts'
import { countBodies } from '../surfaces/http/count-bodies.ts'
import { decodeBodies } from '../surfaces/http/decode-bodies.ts'
import { DirectRouter } from '../surfaces/http/direct-router.ts'
import { type EnrolParts, enrolRoute } from '../surfaces/http/enrol.ts'
import { errors, missingRoutes } from '../surfaces/http/errors.ts'
import { type EventParts, eventRoutes } from '../surfaces/http/event-routes.ts'
import { type HealthParts, healthRoutes } from '../surfaces/http/health.ts'
import { homeRoute } from '../surfaces/http/home-route.ts'
import type { InferenceParts } from '../surfaces/http/inference.ts'
import { inferenceRoutes } from '../surfaces/http/inference-routes.ts'
import { createInvalidKeyLog } from '../surfaces/http/invalid-keys.ts'
import { measure } from '../surfaces/http/measure.ts'
import { metricRoutes } from '../surfaces/http/metric-routes.ts'
import { modelRoutes } from '../surfaces/http/models.ts'
import { ollamaAnswerRoutes } from '../surfaces/http/ollama/answer-routes.ts'
import { ollamaModelRoutes } from '../surfaces/http/ollama/model-routes.ts'
import { openApiRoute } from '../surfaces/http/openapi-route.ts'
import { operationRoutes } from '../surfaces/http/operation-routes.ts'
import { collectRoutes } from '../surfaces/http/route-docs.ts'
import { listAllowedHosts, safety } from '../surfaces/http/safety.ts'
import { storedResponseRoutes } from '../surfaces/http/stored-response-routes.ts'
import { mcpRoutes } from '../surfaces/mcp/mcp-routes.ts'
import {
  type CoordinatorMetrics,
  listCoordinatorMetrics,
} from '../surfaces/metrics/coordinator-metrics.ts'
import { createPrometheusRegistry } from '../surfaces/metrics/prometheus.ts'

/** Everything the surfaces need, as narrow views; tests give fakes. */
export interface AppParts {
  config: CoordinatorConfig
  /** Models that clients may name; those of the configuration by default. */
  catalogue?: Catalogue
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Runtime
  keys: AuthParts['keys'] & Partial<Pick<Keys, 'hold'>>
  quota: Pick<Quota, 'standing' | 'admit'>
  usage: InferenceParts['usage']
  fleet: Pick<Fleet, 'pick' | 'cells' | 'serves' | 'roundTripsMs'>
  lanes?: InferenceParts['lanes']
  answerMemory: InferenceParts['answerMemory']
  running: InferenceParts['running']
  /** Responses that clients asked to keep; without it none is kept. */
  storedResponses?: StoredResponses | undefined
  metrics: CoordinatorMetrics
  budgets: Budgets
  /** Metrics that `/metrics` shows; by default those of this app, without the process. */
  registry?: Registry
  enrol: EnrolParts['enrol']
  replicas?: Pick<Replicas, 'id' | 'live'> | undefined
  cellSelf: CellSelfParts
  /** Certificate chain and private key, PEM; plain HTTP without. */
  shown?: { cert: string; key: string } | undefined
  views: FleetViews & VitalViews & ReplicaViews & Partial<KnowledgeViews>
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

const addInferenceRoutes = (
  app: FastifyInstance,
  straight: DirectRouter,
  parts: AppParts,
): void => {
  const { config, logger, now, runtime, keys, quota, usage, fleet, lanes, running, metrics } = parts
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
    runtime,
    running,
    metrics: metrics.inference,
    onError: metrics.http.countError,
    hold: keys.hold?.bind(keys),
  }
  const { storedResponses: responses } = parts
  inferenceRoutes(straight, { ...inference, ...(responses && { responses }) })
  ollamaAnswerRoutes(straight, inference)
}

export const addRoutes = async (app: FastifyInstance, parts: AppParts): Promise<void> => {
  const { config, logger, now, runtime, keys, quota, fleet } = parts
  const { running, enrol, views, pipeline } = parts
  const { metrics, catalogue = config.catalogue } = parts
  const routes = collectRoutes(app)
  const cors = new CorsPolicy(config.http.cors_origins)
  const anonymous = new AnonymousLimit(config.limits.anonymous_per_minute)
  const authParts = { keys, anonymous, onInvalidKey: createInvalidKeyLog(logger) }
  const straight = new DirectRouter(app, {
    ...authParts,
    config,
    metrics: metrics.http,
    bodies: parts.budgets.requestBodies,
    logger,
    nowMs: runtime.nowMs,
  })
  await app.register(measure, { metrics: metrics.http, nowMs: runtime.nowMs })
  await app.register(errors, { onError: metrics.http.countError })
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
  const modelFacts = new ModelFactsMemory({ fleet, mayUse, runtime })
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
    metrics: metrics.events,
    isDraining: running.isDraining,
    now,
    runtime,
  })
  const registry =
    parts.registry ??
    createPrometheusRegistry(
      listCoordinatorMetrics({ ...parts, vitals: views.vitals, replicas: views.replicas }),
    )
  await app.register(metricRoutes, { registry, authorize: pipeline.authorize })
  await app.register(mcpRoutes, {
    operations: [...registered.skills, ...operations].filter(isTool),
    pipeline,
    events: parts.events,
    stallMs: config.events.stall_seconds * 1000,
    logger,
    hosts: listAllowedHosts(config),
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
      onError: metrics.http.countError,
      hold: keys.hold?.bind(keys),
    })
  await app.register(openApiRoute, { config, routes })
  straight.stepInFront(app.server)
  closeWithLinger(app.server)
}
