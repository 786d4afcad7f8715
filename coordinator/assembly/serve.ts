import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { A2aParts } from '../a2a/a2a-routes.ts'
import { hookAccess } from '../a2a/push/hook-access.ts'
import { createAgents } from '../agents/agents.ts'
import { sweepSessions } from '../agents/sweep.ts'
import type { CoordinatorConfig } from '../config.ts'
import { createEvents } from '../events/bus.ts'
import { configuredPolicy } from '../gates/policies.ts'
import { createIdempotency } from '../idempotency/idempotency.ts'
import { createKeys } from '../keys/keys.ts'
import { coordinatorMetrics, createFigures } from '../metrics/figures.ts'
import { addProcessMetrics, metricRegistry } from '../metrics/registry.ts'
import { createVitals } from '../metrics/vitals.ts'
import { operations } from '../operations/index.ts'
import { createPipeline } from '../operations/invoke/invoke.ts'
import { taskReaders } from '../operations/task-readers.ts'
import { createCallLimits } from '../quota/call-limits.ts'
import { createQuota } from '../quota/quota.ts'
import { createUsage, type Usage } from '../quota/usage.ts'
import { journalUsage } from '../quota/usage-journal.ts'
import { createUsageKeeper } from '../quota/usage-keeper.ts'
import { openSigning } from '../signing/signing.ts'
import { skills } from '../skills/index.ts'
import { probeStore } from '../store/probe.ts'
import { keepServerIdentity } from '../tls/keep.ts'
import { serverIdentity } from '../tls/server-identity.ts'
import { createVisitors } from '../visitors/visitors.ts'
import { buildApp } from './app.ts'
import { type CellPortParts, openMqttPort, openUpgrades } from './cell-ports.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { converse } from './conversing.ts'
import { openCoordinatorStore } from './coordinator-store.ts'
import { type Governing, govern } from './governing.ts'
import { listenError } from './listen-error.ts'
import { openMetricsPort } from './metrics-port.ts'
import { openOutward } from './outward.ts'
import { notReady } from './readiness.ts'
import { createRunning } from './running.ts'
import { openTaskPlane } from './task-plane.ts'
import { viewsOf } from './views.ts'

export interface Coordinator {
  /** Where it listens: `http://127.0.0.1:7070`. */
  url: string
  /** False when the store cannot be written. */
  healthy(): boolean
  /** Requests that wait for room on a cell, by model. */
  waiting(): ReadonlyMap<string, number>
  /** Refuses new work, lets running answers end (bounded), then lets go of everything. */
  close(): Promise<void>
}

/** Builds every part, in order, and listens. A fixture answers A2A in place of the skills. */
export const serve = async (
  config: CoordinatorConfig,
  logger: Logger,
  { fixture }: Pick<A2aParts, 'fixture'> = {},
): Promise<Coordinator> => {
  const now = Date.now
  const configured = configuredPolicy(config.policy_file, config.gates)
  const nowMs = () => performance.now()
  const shown = await serverIdentity(config)
  const figures = createFigures()
  const store = await openCoordinatorStore(config.state_dir, { figures: figures.store })
  const signing = await openSigning(config.state_dir)
  const closing = new AbortController()
  const probe = probeStore(store.ledger, { signal: closing.signal })
  const events = createEvents({
    ...{ source: `/shoal/${config.name}`, kept: config.events.kept, logger },
  })
  const keys = createKeys({ store, logger })
  const visitors = createVisitors({ ledger: store.ledger, settings: config.keys, now })
  const quota = figures.quota.watch(createQuota({ store, tiers: config.tiers, logger }))
  const { records } = store
  const usage = await journalUsage(createUsage(store), { stateDir: config.state_dir, logger })
  const usageKeeper = createUsageKeeper({ records, retention: config.usage, logger })
  const running = createRunning()
  const fingerprint = () => shown?.fingerprint
  let governing: Governing | undefined
  const base = { config, store, signing, events, logger, now, nowMs }
  const plane = await openControlPlane({
    ...{ ...base, fingerprint, figures: figures.broker },
    witnessed: (head, cellId) => governing?.witnessed(head, cellId),
  })
  const { fleet, admission, monitor, bus } = plane
  const { state_dir } = config
  const brokerConnected = bus.connected
  governing = await govern({ ...base, configured, bus, fleet })
  const { gates, policies } = governing
  const callable = [...operations, ...skills]
  const outward = await openOutward({
    ...{ config, store, events, figures: figures.queue, logger, now },
    isSeen: hookAccess({ ledger: store.ledger, keys, readerOf: taskReaders(callable) }),
  })
  const { queue, webhooks, sealing } = outward
  const recorded = completing(usage, monitor)
  const conversations = await converse({
    ...{ config, store, events, running, figures, keys, quota, fleet, logger, now },
    ...{ usage: recorded, lanes: plane.lanes, skills },
  })
  const idempotency = createIdempotency({ ledger: store.ledger, sealing, now, logger })
  const agents = createAgents({ store, config: config.agents, publish: events.publish, now })
  const stopSweepingSessions = sweepSessions(agents.sessions, logger)
  // an audit that was tampered with stops all writing, and nothing else
  const storeProblem = () => (governing.trouble() === undefined ? probe.trouble() : undefined)
  const vitals = createVitals({ store: probe, stateDir: state_dir, brokerConnected, nowMs })
  const registry = addProcessMetrics(metricRegistry(coordinatorMetrics({ figures, fleet, vitals })))

  const pipeline = createPipeline({
    skills,
    views: () => views,
    tasks: () => taskPlane.a2a.operationTasks,
    countCall: createCallLimits(),
    hold: keys.hold,
    ...{ quota, idempotency, logger, now },
  })
  const taskPlane = openTaskPlane({
    ...{ config, store, events, outward, logger, now },
    operations: callable,
    views: () => views,
    perform: pipeline.perform,
  })
  const views = viewsOf({
    plane,
    config,
    encrypted: shown !== undefined,
    tasks: taskPlane.taskViews,
    ...{ store, settleUsage: usage.settle, keys, visitors, gates, policies, now, vitals },
    ...{ queue, webhooks, agents, conversations },
    auditHead: governing.auditHead,
  })
  const app = await buildApp({
    config,
    logger,
    now,
    keys,
    quota,
    usage: recorded,
    fleet,
    lanes: plane.lanes,
    running,
    figures,
    events,
    registry,
    ...(shown && { tls: shown }),
    enrol: admission.enrol,
    cellSelf: {
      authenticate: admission.authenticate,
      arrived: admission.arrived,
      renew: plane.cells.renew,
      leave: admission.leave,
      trust: signing.trust,
      now,
    },
    views,
    a2a: { ...taskPlane.a2a, ...(fixture === undefined ? {} : { fixture }) },
    pipeline,
    degraded: monitor.degraded,
    notReady: () => notReady({ draining: running.draining, brokerConnected, storeProblem }),
  })

  const ports: CellPortParts = { config, plane, draining: running.draining, logger }
  openUpgrades(app, ports)
  await taskPlane.recover()
  const url = await listen(app, config)
  const mqtt = await openMqttPort(ports)
  const metricsPort = await openMetricsPort(config.metrics.loopback_port, registry)
  logger.info({ url, mqtt_url: mqtt?.url, state_dir, ca_file: shown?.caFile }, 'coordinator is up')
  const identify = () => serverIdentity(config)
  const stopRenewing = keepServerIdentity({ server: app.server, shown, identify, logger })

  const close = async (): Promise<void> => {
    await Promise.race([running.drain(), delay(config.http.drain_seconds * 1000)])
    await conversations.close()
    stopRenewing()
    mqtt?.close()
    stopSweepingSessions()
    metricsPort?.close()
    await taskPlane.close()
    await plane.close()
    await app.close()
    await outward.close()
    vitals.close()
    await usage.close()
    await quota.close()
    await usageKeeper.close()
    keys.close()
    await governing.close()
    closing.abort()
    await store.close()
    logger.info('coordinator is down')
  }
  const healthy = () => storeProblem() === undefined
  return { url, healthy, waiting: () => plane.routing.queue.lengths(), close }
}

/** Usage that also tells the monitor of what was completed. */
const completing = (
  usage: Usage,
  monitor: Pick<ControlPlane['monitor'], 'completed'>,
): Pick<Usage, 'record'> => ({
  record: async row => {
    await usage.record(row)
    if (row.status === 'ok') monitor.completed(row.at)
  },
})

const delay = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds).unref())

const listen = async (app: FastifyInstance, { http }: CoordinatorConfig): Promise<string> => {
  try {
    return await app.listen({ host: http.host, port: http.port, backlog: 4096 })
  } catch (cause) {
    throw listenError(cause, { host: http.host, port: http.port, key: 'http.port' })
  }
}
