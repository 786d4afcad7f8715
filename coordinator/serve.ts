import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { AuditHead } from '../shared/wire/audit-head.ts'
import { buildApp } from './app.ts'
import { type AuditGuard, guardAudit } from './audit/guard.ts'
import { createWitnesses } from './audit-witnesses.ts'
import { type CellPortParts, openMqttPort, openUpgrades } from './cell-ports.ts'
import { type CoordinatorConfig, isLoopback } from './config.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { createEvents } from './events/bus.ts'
import { createGates } from './gates/gates.ts'
import { loadPolicy, SHIPPED_POLICY_FILE } from './gates/policy.ts'
import { sweepGates } from './gates/sweep.ts'
import { createKeys } from './keys/keys.ts'
import { openSigning } from './keys/signing.ts'
import { listenError } from './listen-error.ts'
import { coordinatorMetrics, createFigures } from './metrics/figures.ts'
import { addProcessMetrics, metricRegistry } from './metrics/registry.ts'
import { openMetricsPort } from './metrics-port.ts'
import { createCallStats } from './operations/call-stats.ts'
import type { Views } from './operations/context.ts'
import { createQuota } from './quota/quota.ts'
import { createUsage, type Usage } from './quota/usage.ts'
import { journalUsage } from './quota/usage-journal.ts'
import { createUsageKeeper } from './quota/usage-keeper.ts'
import { notReady } from './readiness.ts'
import { createRunning } from './running.ts'
import { skills } from './skills/index.ts'
import { probeStore } from './store/probe.ts'
import { openStore } from './store/store.ts'
import { keepServerIdentity } from './tls/keep.ts'
import { serverIdentity } from './tls/server-identity.ts'
import { createVitals } from './vitals.ts'

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

/** Builds every part, in order, and listens. */
export const serve = async (config: CoordinatorConfig, logger: Logger): Promise<Coordinator> => {
  const now = Date.now
  const policy = loadPolicy(config.policy_file ?? SHIPPED_POLICY_FILE, gateIds(config))
  const nowMs = () => performance.now()
  const shown = await serverIdentity(config)
  const figures = createFigures()
  const store = figures.store.watch(await openStore(config.state_dir))
  const signing = await openSigning(config.state_dir)
  const closing = new AbortController()
  const probe = probeStore(store.ledger, { signal: closing.signal })
  const events = createEvents({ source: `/shoal/${config.name}`, logger })
  const keys = createKeys({ store, logger })
  const quota = figures.quota.watch(createQuota({ store, tiers: config.tiers, logger }))
  const { records } = store
  const usage = await journalUsage(createUsage(store), { stateDir: config.state_dir, logger })
  const usageKeeper = createUsageKeeper({ records, retention: config.usage, logger })
  const running = createRunning()
  const fingerprint = () => shown?.fingerprint
  let guard: AuditGuard | undefined
  const witnessed = (head: AuditHead, cellId: string): void => {
    guard
      ?.witnessed(head, cellId)
      .catch(error => logger.warn({ err: error }, 'a witness was not heard'))
  }
  const base = { config, store, signing, events, fingerprint, witnessed, logger, now, nowMs }
  const plane = await openControlPlane({ ...base, figures: figures.broker })
  const { fleet, admission, monitor, bus } = plane
  const { state_dir } = config
  const brokerConnected = bus.connected
  guard = guardAudit({
    ...{ ledger: store.ledger, signer: signing, stateDir: state_dir, logger, now },
    broadcast: createWitnesses({ bus, fleet, logger }),
    publish: events.publish,
    signal: closing.signal,
  })
  const gates = createGates({
    store,
    definitions: config.gates,
    signer: signing,
    publish: events.publish,
    now,
  })
  const stopSweeping = sweepGates(gates, logger)
  // an audit that was tampered with stops all writing, and nothing else
  const storeProblem = () => (guard?.trouble() === undefined ? probe.trouble() : undefined)
  const vitals = createVitals({ store: probe, stateDir: state_dir, brokerConnected, nowMs })
  const registry = addProcessMetrics(metricRegistry(coordinatorMetrics({ figures, fleet, vitals })))

  const app = await buildApp({
    config,
    logger,
    now,
    keys,
    quota,
    usage: completing(usage, monitor),
    fleet,
    lanes: plane.lanes,
    running,
    figures,
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
    views: viewsOf(plane, {
      config,
      encrypted: shown !== undefined,
      ...{ store, settleUsage: usage.settle, keys, gates, policy, now, vitals },
    }),
    degraded: monitor.degraded,
    notReady: () => notReady({ draining: running.draining, brokerConnected, storeProblem }),
  })

  const ports: CellPortParts = { config, plane, draining: running.draining, logger }
  openUpgrades(app, ports)
  const url = await listen(app, config)
  const mqtt = await openMqttPort(ports)
  const metricsPort = await openMetricsPort(config.metrics.loopback_port, registry)
  logger.info({ url, mqtt_url: mqtt?.url, state_dir, ca_file: shown?.caFile }, 'coordinator is up')
  const identify = () => serverIdentity(config)
  const stopRenewing = keepServerIdentity({ server: app.server, shown, identify, logger })

  const close = async (): Promise<void> => {
    await Promise.race([running.drain(), delay(config.http.drain_seconds * 1000)])
    stopRenewing()
    mqtt?.close()
    stopSweeping()
    metricsPort?.close()
    await plane.close()
    await app.close()
    vitals.close()
    await usage.close()
    await quota.close()
    await usageKeeper.close()
    keys.close()
    closing.abort()
    await store.close()
    logger.info('coordinator is down')
  }
  const healthy = () => storeProblem() === undefined
  return { url, healthy, waiting: plane.routing.queue.lengths, close }
}

/** What operations may look at and act on. */
const viewsOf = (
  plane: ControlPlane,
  rest: { config: CoordinatorConfig; encrypted: boolean } & Pick<
    Views,
    'store' | 'settleUsage' | 'keys' | 'gates' | 'policy' | 'now' | 'vitals'
  >,
): Views => ({
  fleet: plane.fleet,
  routing: plane.routing,
  cells: plane.cells,
  identity: plane.identity,
  settings: plane.settings,
  commands: plane.control.commands,
  configs: plane.control.configs,
  monitor: plane.monitor,
  store: rest.store,
  keys: rest.keys,
  gates: rest.gates,
  policy: rest.policy,
  declarations: rest.config.compliance,
  listens: {
    loopbackOnly: isLoopback(rest.config.http.host),
    encrypted: rest.encrypted,
  },
  auditDays: rest.config.audit.retention_days,
  now: rest.now,
  catalogue: rest.config.catalogue,
  tiers: rest.config.tiers,
  settleUsage: rest.settleUsage,
  skillIds: skills.map(skill => skill.id),
  calls: createCallStats(),
  vitals: rest.vitals,
})

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

const gateIds = ({ gates }: CoordinatorConfig): ReadonlySet<string> => new Set(Object.keys(gates))

const delay = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds).unref())

const listen = async (app: FastifyInstance, { http }: CoordinatorConfig): Promise<string> => {
  try {
    return await app.listen({ host: http.host, port: http.port, backlog: 4096 })
  } catch (cause) {
    throw listenError(cause, { host: http.host, port: http.port, key: 'http.port' })
  }
}
