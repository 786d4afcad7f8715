import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ShoalError } from '../shared/errors.ts'
import type { Metric } from '../shared/metrics/metric.ts'
import { createStallMeter, createSystemdNotify, notifySystemd } from '../shared/notify.ts'
import { openSigner } from '../shared/signing.ts'
import { lockState } from '../shared/state-lock.ts'
import { PROTOCOL_VERSION, VERSION } from '../shared/version.ts'
import type { Announce } from '../shared/wire/announce.ts'
import { CAPABILITY } from '../shared/wire/capability.ts'
import type { CellSettings } from '../shared/wire/desired.ts'
import type { Envelope } from '../shared/wire/envelope.ts'
import type { EngineReport } from '../shared/wire/telemetry.ts'
import { createBuiltInVerbs } from './commands/built-in-verbs.ts'
import { CoordinatorClock } from './commands/clock.ts'
import { openJournalFile } from './commands/journal-file.ts'
import { createModelVerbs } from './commands/model-verbs.ts'
import { toVerbFacts, type Verb } from './commands/verb.ts'
import { type DaemonConfig, DEFAULT_COORDINATOR_URL } from './config.ts'
import { genuineDesired } from './desired/believable.ts'
import { OpenBirths } from './desired/freshness.ts'
import { settingsOf } from './desired/settings.ts'
import { afterAnswers, countAnswers } from './draining.ts'
import { enrol } from './enrol.ts'
import { chooseSampler, thisMachine } from './gpu/choose.ts'
import { type GpuSampler, noGpus } from './gpu/sampler.ts'
import { createHealth, type Health, isSound } from './health.ts'
import { createSpawner } from './helper/helper-child.ts'
import { Helpers } from './helper/helpers.ts'
import { readHostFacts } from './host/facts.ts'
import { createHostSampler } from './host/sampler.ts'
import {
  beginEpoch,
  type Identity,
  readIdentity,
  signingKeyFile,
  writeIdentity,
} from './identity.ts'
import type { EngineLimits } from './inference/engines.ts'
import type { ModelControl } from './inference/model-control.ts'
import { LiveSettings, spoolLimits } from './live-settings.ts'
import { cellMetrics } from './metrics/cell-metrics.ts'
import { withMetrics } from './metrics/with-metrics.ts'
import { ownIdentity } from './own-identity.ts'
import { createHostProbes } from './probes/host-probes.ts'
import { createHostQuestion } from './probes/host-question.ts'
import { withQuestions } from './questions/with-questions.ts'
import type { Service } from './service.ts'
import { announceService } from './services/announce.ts'
import { commandsService } from './services/commands.ts'
import { credentialService, settleAtStart } from './services/credential.ts'
import { desiredService } from './services/desired.ts'
import { type Handle, linkService } from './services/link.ts'
import { localService } from './services/local.ts'
import { telemetryService } from './services/telemetry.ts'
import { witnessService } from './services/witness.ts'
import { supervise } from './supervisor.ts'
import { Nudge } from './uplink/nudge.ts'
import { quarantineNotice } from './uplink/quarantine-notice.ts'
import { Uplink } from './uplink/uplink.ts'
import { openWitness, type Witness } from './witness.ts'

/** What the daemon needs of its inference. */
export interface Inference extends Service {
  reports(): EngineReport[]
  onChange(listener: () => void): () => void
  /** Ends the engines and starts them again, where there are some. */
  restart?(limits?: EngineLimits): Promise<void>
  /** Reads the memory of the GPUs from there. */
  watchGpus?(gpus: Pick<GpuSampler, 'sample'>): void
  /** What can be done with single models. */
  models?: ModelControl
  handle: Handle
  /** What Prometheus is told of the engines, where there are some. */
  metrics?(): Metric[]
}

export interface DaemonParts {
  /** With what the coordinator had set before. */
  config: DaemonConfig
  /** As the cell's own file has it; `config` by default. */
  local?: CellSettings
  /** Calls back with the settings of the cell's own file whenever it is to be read again. */
  onReload?: (listener: (local: CellSettings) => void) => void
  env: Record<string, string | undefined>
  inference: Inference
  /** What this cell can be commanded to do, besides what every cell can. */
  verbs?: readonly Verb[]
  logger: Logger
  /** Stops the daemon once its running answers have ended; the promise then resolves. */
  leave?: AbortSignal
  /** Stops it at once. */
  signal: AbortSignal
}

/** Runs all services. Inference does not wait for the coordinator. */
export const daemon = async (given: DaemonParts): Promise<void> => {
  const answers = countAnswers(given.inference.handle)
  const leave = given.leave ?? new AbortController().signal
  const drainSeconds = given.config.drain_seconds
  const signal = afterAnswers({ leave, signal: given.signal, answers, drainSeconds })
  const watched: { gpus: GpuSampler } = { gpus: noGpus }
  const metrics = () => cellMetrics(given.inference, watched.gpus)
  const inference = { ...given.inference, handle: withMetrics(metrics, answers.handle) }
  const parts = { ...given, inference, leave, signal }
  const { config, env, logger } = parts
  await lockState(config.state_dir, signal)
  const stored = await readIdentity(config.state_dir)
  const token = stored === undefined ? await joinToken(config) : undefined
  const health = createHealth(logger)
  const start = (services: Service[]) => supervise({ services, signal, health, logger })

  const gpus = await chooseSampler(thisMachine(env.PATH, config.telemetry.interval_seconds))
  gpus.start(signal)
  watched.gpus = gpus
  inference.watchGpus?.(gpus)

  const local = config.local.port > 0 ? [localService(config.local.port, inference.handle)] : []
  const running = [start([inference, ...local])]
  const longestStallMs = env.WATCHDOG_USEC ? createStallMeter(signal) : () => 0
  const healthy = () => isSound(health.view(), Date.now())
  running.push(
    notifySystemd({
      env,
      send: createSystemdNotify(logger),
      signal,
      longestStallMs,
      isHealthy: healthy,
    }),
  )

  const identity = stored ?? (token && (await firstIdentity(token, parts)))
  if (identity) running.push(start(await fleetServices(identity, health, gpus, parts)))
  else logger.warn('no identity and no join token: this cell serves its own machine only')
  await Promise.all(running)
}

/** The token for the first enrolment; undefined for a cell that is to stay alone. */
const joinToken = async ({ coordinator, local, state_dir }: DaemonConfig) => {
  const { join_token, join_token_file } = coordinator
  const token = join_token ?? (join_token_file && (await readToken(join_token_file)))
  if (token) return token
  if (local.port > 0) return undefined
  throw new ShoalError(
    'config_invalid',
    `this cell is not enrolled (${state_dir} holds no identity) and has no join token: use shoald join URL --token TOKEN`,
  )
}

const readToken = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    const { message } = cause as Error
    throw new ShoalError('config_invalid', `coordinator.join_token_file: ${message}`, { cause })
  }
}

const firstIdentity = async (token: string, parts: DaemonParts): Promise<Identity> => {
  const { config, signal, logger } = parts
  const url = config.coordinator.url ?? DEFAULT_COORDINATOR_URL
  const identity = await enrol({
    url,
    token,
    name: config.name,
    signer: await openSigner(signingKeyFile(config.state_dir)),
    timeoutSeconds: config.coordinator.connect_timeout_seconds,
    signal,
    logger,
  })
  await writeIdentity(config.state_dir, identity)
  logger.info({ cell_id: identity.cell_id, coordinator: url }, 'enrolled')
  return identity
}

/** The services of a cell that belongs to a fleet. The epoch grows before anybody hears of it. */
const fleetServices = async (
  stored: Identity,
  health: Health,
  gpus: GpuSampler,
  parts: DaemonParts,
): Promise<Service[]> => {
  const { config, local, onReload, inference, verbs: more, logger, leave, signal } = parts
  const helpers = new Helpers({ spawn: createSpawner(parts.env) })
  signal.addEventListener('abort', () => helpers.stop(), { once: true })
  const probes = createHostProbes({ helpers, config: config.probes, now: Date.now })
  const url = config.coordinator.url ?? stored.coordinator_url
  const begun = await beginEpoch(config.state_dir, { ...stored, coordinator_url: url })
  const identity = ownIdentity(config.state_dir, begun)
  logger.info({ cell_id: identity.cell_id, epoch: identity.epoch, coordinator: url }, 'this cell')

  const connectTimeoutSeconds = config.coordinator.connect_timeout_seconds
  await settleAtStart({ identity, url, connectTimeoutSeconds, logger }, signal)
  const intervalSeconds = config.telemetry.interval_seconds
  const host = await readHostFacts()
  const live = new LiveSettings(config)
  const clock = new CoordinatorClock(() => performance.now())
  const everyCell = createBuiltInVerbs({
    announce: () => announce.again(),
    restartEngines: () => {
      inference.restart?.().catch(error => logger.error({ reason: error.message }, 'engines'))
    },
  })
  const ofModels = inference.models === undefined ? [] : createModelVerbs(inference.models)
  const verbs = [...everyCell, ...ofModels, ...(more ?? [])]
  const trusted = () => (identity.coordinator_key === undefined ? [] : [identity.coordinator_key])
  const witness = await openWitness({ stateDir: config.state_dir, trusted, logger })
  const describe = (): Announce => ({
    name: config.name,
    version: VERSION,
    protocol: PROTOCOL_VERSION,
    capability: CAPABILITY,
    host,
    gpus: gpus.facts(),
    engines: inference.reports(),
    tags: live.tags,
    ...(identity.coordinator_key !== undefined && { coordinator_key: identity.coordinator_key }),
    verbs: verbs.map(toVerbFacts),
    ...auditHead(witness),
  })
  const { outboxBytes, ...telemetryLimits } = spoolLimits(config)
  const spool = { folder: join(config.state_dir, 'spool', 'telemetry'), ...telemetryLimits }
  const outbox = { folder: join(config.state_dir, 'spool', 'acks'), maxBytes: outboxBytes }
  const quarantine = quarantineNotice(identity.cell_id, logger)
  const nudge = new Nudge()
  const reach = { identity, url, connectTimeoutSeconds, health, nudge, quarantine }
  const births = new OpenBirths()
  const believing = () => ({ cellId: identity.cell_id, trusted: trusted() })
  const sending = ({ type, id }: Envelope): void => {
    if (type !== 'birth') return
    clock.markRequest(id)
    births.sent(id)
  }
  const uplink = new Uplink({ ...reach, spool, outbox, sending, logger })
  leave?.addEventListener('abort', () => uplink.sayDraining(), { once: true })
  uplink.on('desired', ({ body, at }) => {
    const { answers, issued_at = at } = genuineDesired(body, believing()) ?? {}
    if (answers !== undefined) clock.markAnswer(answers, issued_at)
  })
  const onChange = (listener: () => void) => inference.onChange(listener)
  const engines = () => inference.reports()
  const leaving = leave ? AbortSignal.any([leave, signal]) : signal
  const announce = announceService({
    uplink,
    describe,
    intervalSeconds,
    onChange,
    leaving,
    logger,
  })
  const telemetry = telemetryService({
    uplink,
    gpus,
    host: createHostSampler({ stateDir: config.state_dir }),
    engines,
    onChange,
    intervalSeconds,
  })
  const askAgain = () =>
    void announce.again().catch(error => logger.debug({ reason: error.message }, 'not announced'))
  const restartEngines = async (limits: EngineLimits) => inference.restart?.(limits)
  const desired = desiredService({
    stateDir: config.state_dir,
    uplink,
    local: local ?? settingsOf(config),
    apply: settings => live.apply(settings, { telemetry, uplink, restartEngines, logger }),
    health,
    engines,
    believing,
    births,
    askAgain,
    logger,
  })
  onReload?.(settings => void desired.reload(settings))
  const commands = commandsService({
    cellId: identity.cell_id,
    uplink,
    file: openJournalFile(join(config.state_dir, 'commands.journal')),
    signer: await openSigner(signingKeyFile(config.state_dir)),
    listTrustedKeys: trusted,
    verbs,
    clock,
    now: Date.now,
    nowMs: () => performance.now(),
    logger,
  })
  return [
    announce,
    desired,
    commands,
    uplink,
    telemetry,
    linkService({
      ...reach,
      handle: withQuestions([createHostQuestion(probes)], inference.handle),
    }),
    witnessService({ witness, uplink, logger }),
    credentialService({
      ...reach,
      uplink,
      credentialDays: config.coordinator.credential_days,
      // what came signed with the new key before it was believed is told again
      believed: askAgain,
      logger,
    }),
  ]
}

const auditHead = ({ head }: Witness): Pick<Announce, 'audit_head'> => {
  const kept = head()
  return kept === undefined ? {} : { audit_head: kept }
}
