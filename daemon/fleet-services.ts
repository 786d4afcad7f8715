import { join } from 'node:path'
import { openSigner } from '../shared/signing.ts'
import { PROTOCOL_VERSION, VERSION } from '../shared/version.ts'
import type { Announce, HostFacts } from '../shared/wire/announce.ts'
import { CAPABILITY } from '../shared/wire/capability.ts'
import type { Envelope } from '../shared/wire/envelope.ts'
import { createBuiltInVerbs } from './commands/built-in-verbs.ts'
import { CoordinatorClock } from './commands/clock.ts'
import { openJournalFile } from './commands/journal-file.ts'
import { createModelVerbs } from './commands/model-verbs.ts'
import { toVerbFacts, type Verb } from './commands/verb.ts'
import type { Coverage } from './coordinators/coverage.ts'
import { CoverageFile } from './coordinators/coverage-file.ts'
import { KnownCoordinators } from './coordinators/known-coordinators.ts'
import type { DaemonParts } from './daemon-parts.ts'
import { genuineDesired } from './desired/believable.ts'
import { readSharedEnvelopes } from './desired/desired-file.ts'
import { OpenBirths } from './desired/freshness.ts'
import { settingsOf } from './desired/settings.ts'
import { createDeviceQuestions } from './devices/device-questions.ts'
import { DevicesInBirth } from './devices/devices-in-birth.ts'
import { openFormationVerb } from './devices/formation/open-formation-verb.ts'
import { createPublishVerb } from './devices/mqtt/publish-verb.ts'
import { type OpenedDeviceHost, openDeviceHost } from './devices/open-device-host.ts'
import { DEVICE_QUESTIONS } from './devices/questions/index.ts'
import { createStoppableDevices } from './devices/stoppable-host.ts'
import type { CellEstop } from './estop/cell-estop.ts'
import type { GpuSampler } from './gpu/sampler.ts'
import type { HealthRegistry } from './health.ts'
import { createSpawner } from './helper/helper-child.ts'
import { Helpers } from './helper/helpers.ts'
import { readHostFacts } from './host/facts.ts'
import { createHostSampler } from './host/sampler.ts'
import { beginEpoch, type Identity, signingKeyFile } from './identity.ts'
import type { EngineLimits } from './inference/engines.ts'
import { LiveSettings, spoolLimits } from './live-settings.ts'
import { type OwnIdentity, ownIdentity } from './own-identity.ts'
import { createHostProbes } from './probes/host-probes.ts'
import { createHostQuestion } from './probes/host-question.ts'
import type { Question } from './questions/question.ts'
import { withQuestions } from './questions/with-questions.ts'
import type { Service } from './service.ts'
import { announceService } from './services/announce.ts'
import { commandsService } from './services/commands.ts'
import { credentialService, settleAtStart } from './services/credential.ts'
import { DesiredService } from './services/desired.ts'
import { deviceListService } from './services/device-list.ts'
import { devicesService } from './services/devices.ts'
import { EstopService } from './services/estop.ts'
import { linkService } from './services/link.ts'
import { telemetryService } from './services/telemetry.ts'
import { witnessService } from './services/witness.ts'
import { Nudge } from './uplink/nudge.ts'
import { quarantineNotice } from './uplink/quarantine-notice.ts'
import { Uplink } from './uplink/uplink.ts'
import { openWitness, type Witness } from './witness.ts'

/** Parts of a daemon whose e-stops are loaded. */
interface FleetDaemonParts extends DaemonParts {
  estop: CellEstop
}

/** A cell that belongs to a fleet, for its services. */
interface FleetCell {
  parts: FleetDaemonParts
  identity: OwnIdentity
  url: string
  clock: CoordinatorClock
  live: LiveSettings
  witness: Witness
  births: OpenBirths
  /** Public keys of the coordinator that this cell has pinned. */
  listTrustedKeys: () => readonly string[]
  devices: OpenedDeviceHost
  health: HealthRegistry
  gpus: GpuSampler
}

/** Services of a cell that belongs to a fleet. The epoch grows before any peer learns of this start. */
export const fleetServices = async (
  stored: Identity,
  health: HealthRegistry,
  gpus: GpuSampler,
  parts: FleetDaemonParts,
): Promise<Service[]> => {
  const cell = await openCell(stored, health, gpus, parts)
  const { witness, devices } = cell
  const { config, inference, logger } = parts
  const reach = reachOf(cell)
  const uplink = openUplink(cell, reach)
  const announcement = { again: async (): Promise<void> => {} }
  const verbs = [
    ...listVerbs(cell, announcement),
    openFormationVerb({
      cellId: cell.identity.cell_id,
      host: devices.host,
      estop: parts.estop,
      clock: cell.clock,
      // the answers to a birth carry the time of the coordinators
      askTime: () => announcement.again(),
    }),
  ]
  const announce = announceService({
    uplink,
    describe: await describeCell(cell, verbs),
    intervalSeconds: config.telemetry.interval_seconds,
    onChange: listener => inference.onChange(listener),
    leaving: parts.leave ? AbortSignal.any([parts.leave, parts.signal]) : parts.signal,
    logger,
  })
  announcement.again = () => announce.again()
  const askAgain = () =>
    void announce.again().catch(error => logger.debug({ reason: error.message }, 'not announced'))
  const telemetry = openTelemetry(cell, uplink)
  return [
    announce,
    openDesired(cell, { uplink, telemetry, askAgain }),
    await openEstops(cell, uplink),
    await openCommands(cell, uplink, verbs),
    devicesService({ host: devices.host, uplink, onListChange: askAgain, logger }),
    deviceListService({ stateDir: config.state_dir, host: devices.host, now: Date.now, logger }),
    uplink,
    telemetry,
    linkService({ ...reach, handle: withQuestions(listQuestions(cell), inference.handle) }),
    witnessService({ witness, uplink, logger }),
    credentialService({
      ...reach,
      uplink,
      credentialDays: config.coordinator.credential_days,
      // messages that were signed with the new key before it was pinned are sent again
      onTrustChange: askAgain,
      logger,
    }),
  ]
}

const openCell = async (
  stored: Identity,
  health: HealthRegistry,
  gpus: GpuSampler,
  parts: FleetDaemonParts,
): Promise<FleetCell> => {
  const { config, logger, signal } = parts
  const url = config.coordinator.url ?? stored.coordinator_url
  const begun = await beginEpoch(config.state_dir, { ...stored, coordinator_url: url })
  const identity = ownIdentity(config.state_dir, begun)
  logger.info({ cell_id: identity.cell_id, epoch: identity.epoch, coordinator: url }, 'this cell')
  const connectTimeoutSeconds = config.coordinator.connect_timeout_seconds
  await settleAtStart({ identity, url, connectTimeoutSeconds, logger }, signal)
  const listTrustedKeys = () =>
    identity.coordinator_key === undefined ? [] : [identity.coordinator_key]
  return {
    parts,
    identity,
    url,
    clock: new CoordinatorClock(() => performance.now()),
    live: new LiveSettings(config),
    witness: await openWitness({ stateDir: config.state_dir, listTrustedKeys, logger }),
    births: new OpenBirths(),
    devices: await openDeviceHost({
      cellId: identity.cell_id,
      stateDir: config.state_dir,
      config: config.devices,
      links: parts.links,
      coordinatorUrl: url,
      envelopes: await readSharedEnvelopes(config.state_dir),
      env: parts.env,
      logger,
    }),
    listTrustedKeys,
    health,
    gpus,
  }
}

/** Options shared by all connections to the coordinators. */
const reachOf = ({ parts, identity, url, health }: FleetCell) => {
  const { config, logger, signal } = parts
  const coverage = new CoverageFile(config.state_dir, logger, signal)
  return {
    identity,
    url,
    coordinators: new KnownCoordinators({
      url,
      hasPinnedAuthority: identity.coordinator_ca !== undefined,
    }),
    connectTimeoutSeconds: config.coordinator.connect_timeout_seconds,
    health,
    nudge: new Nudge(),
    quarantine: quarantineNotice(identity.cell_id, logger),
    onCoverage: (plane: string, measured: Coverage) => coverage.record(plane, measured),
  }
}

const openUplink = (cell: FleetCell, reach: ReturnType<typeof reachOf>): Uplink => {
  const { parts, identity, clock, births, listTrustedKeys } = cell
  const { config, leave, logger } = parts
  const { outboxBytes, ...telemetryLimits } = spoolLimits(config)
  const onSend = ({ type, id }: Envelope, replica: string): void => {
    if (type !== 'birth') return
    clock.markRequest(id, replica)
    births.add(id, replica)
  }
  const uplink = new Uplink({
    ...reach,
    spool: { folder: join(config.state_dir, 'spool', 'telemetry'), ...telemetryLimits },
    outbox: { folder: join(config.state_dir, 'spool', 'acks'), maxBytes: outboxBytes },
    onSend,
    logger,
  })
  leave?.addEventListener('abort', () => uplink.sayDraining(), { once: true })
  uplink.onEnd(replica => clock.markEnd(replica))
  uplink.on('desired', ({ body, at }) => {
    const keys = { cellId: identity.cell_id, trusted: listTrustedKeys() }
    const { answers, issued_at = at } = genuineDesired(body, keys) ?? {}
    if (answers !== undefined) clock.markAnswer(answers, issued_at)
  })
  return uplink
}

const listVerbs = (
  { parts: { inference, estop, verbs: more = [], logger }, devices: { mqtt } }: FleetCell,
  announcement: { again(): Promise<void> },
): Verb[] => {
  const everyCell = createBuiltInVerbs({
    announce: () => announcement.again(),
    restartEngines: () => {
      inference.restart?.().catch(error => logger.error({ reason: error.message }, 'engines'))
    },
  })
  const ofModels = inference.models === undefined ? [] : createModelVerbs(inference.models)
  return [...everyCell, ...ofModels, createPublishVerb(mqtt, () => estop.findAnyStop()), ...more]
}

const describeCell = async (
  { parts, identity, live, witness, devices, gpus }: FleetCell,
  verbs: readonly Verb[],
): Promise<() => Announce> => {
  const host: HostFacts = await readHostFacts()
  const inBirth = new DevicesInBirth(devices.host, parts.logger)
  const describe = (): Announce => ({
    name: parts.config.name,
    version: VERSION,
    protocol: PROTOCOL_VERSION,
    capability: CAPABILITY,
    host,
    gpus: gpus.facts(),
    engines: parts.inference.reports(),
    tags: live.tags,
    ...(identity.coordinator_key !== undefined && { coordinator_key: identity.coordinator_key }),
    verbs: verbs.map(toVerbFacts),
    ...auditHead(witness),
  })
  return () => inBirth.addTo(describe())
}

const openTelemetry = ({ parts, gpus }: FleetCell, uplink: Uplink) =>
  telemetryService({
    uplink,
    gpus,
    host: createHostSampler({ stateDir: parts.config.state_dir }),
    engines: () => parts.inference.reports(),
    onChange: listener => parts.inference.onChange(listener),
    intervalSeconds: parts.config.telemetry.interval_seconds,
  })

const openDesired = (
  cell: FleetCell,
  {
    uplink,
    telemetry,
    askAgain,
  }: {
    uplink: Uplink
    telemetry: ReturnType<typeof openTelemetry>
    askAgain: () => void
  },
): DesiredService => {
  const { parts, identity, live, births, devices, listTrustedKeys, health } = cell
  const { config, local, onReload, inference, logger } = parts
  const restartEngines = async (limits: EngineLimits) => inference.restart?.(limits)
  const desired = new DesiredService({
    stateDir: config.state_dir,
    uplink,
    local: local ?? settingsOf(config),
    apply: settings =>
      live.apply(settings, { telemetry, uplink, restartEngines, devices: devices.host, logger }),
    health,
    engines: () => inference.reports(),
    trustedKeys: () => ({ cellId: identity.cell_id, trusted: listTrustedKeys() }),
    births,
    askAgain,
    logger,
  })
  onReload?.(settings => void desired.reload(settings))
  return desired
}

const openCommands = async (
  { parts, identity, clock, devices, listTrustedKeys }: FleetCell,
  uplink: Uplink,
  verbs: readonly Verb[],
): Promise<Service> =>
  commandsService({
    cellId: identity.cell_id,
    uplink,
    file: openJournalFile(join(parts.config.state_dir, 'commands.journal')),
    signer: await openSigner(signingKeyFile(parts.config.state_dir)),
    listTrustedKeys,
    verbs,
    estop: parts.estop,
    devices: devices.host,
    clock,
    now: Date.now,
    nowMs: () => performance.now(),
    logger: parts.logger,
  })

const openEstops = async (
  { parts: { config, estop, logger }, identity, listTrustedKeys, devices }: FleetCell,
  uplink: Uplink,
): Promise<Service> => {
  const cellId = identity.cell_id
  estop.attach({ cellId, devices: createStoppableDevices(devices.host) })
  return new EstopService({
    cellId,
    estop,
    uplink,
    signer: await openSigner(signingKeyFile(config.state_dir)),
    listTrustedKeys,
    now: Date.now,
    logger,
  })
}

const listQuestions = ({ parts, devices: { host, mqtt, context } }: FleetCell): Question[] => [
  openHostProbes(parts),
  createDeviceQuestions(DEVICE_QUESTIONS, { ...context, host, mqtt }),
]

const openHostProbes = ({ config, env, signal }: DaemonParts) => {
  const helpers = new Helpers({ spawn: createSpawner(env) })
  signal.addEventListener('abort', () => helpers.stop(), { once: true })
  return createHostQuestion(createHostProbes({ helpers, config: config.probes, now: Date.now }))
}

const auditHead = ({ head }: Witness): Pick<Announce, 'audit_head'> => {
  const kept = head()
  return kept === undefined ? {} : { audit_head: kept }
}
