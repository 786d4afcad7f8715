import { join } from 'node:path'
import { loadModules } from '../discovery/load.ts'
import { openSigner } from '../shared/signing.ts'
import { PROTOCOL_VERSION, VERSION } from '../shared/version.ts'
import type { Announce, HostFacts } from '../shared/wire/announce.ts'
import { CAPABILITY } from '../shared/wire/capability.ts'
import { createBuiltInVerbs } from './commands/built-in-verbs.ts'
import { openJournalFile } from './commands/journal-file.ts'
import { createModelVerbs } from './commands/model-verbs.ts'
import { toVerbFacts, type Verb } from './commands/verb.ts'
import { settingsOf } from './desired/settings.ts'
import {
  listDeviceServices,
  openCellFormation,
  openDeviceQuestions,
  openEstops,
} from './devices/device-services.ts'
import { DevicesInBirth } from './devices/devices-in-birth.ts'
import { createPublishVerb } from './devices/mqtt/publish-verb.ts'
import { autoRunService } from './discovery/auto-run.ts'
import { AutoRunBudget } from './discovery/auto-run-budget.ts'
import { createModuleQuestion } from './discovery/module-question.ts'
import { type FleetCell, type FleetDaemonParts, openFleetCell } from './fleet-cell.ts'
import type { GpuSampler } from './gpu/sampler.ts'
import type { HealthRegistry } from './health.ts'
import { readHostFacts } from './host/facts.ts'
import { createHostSampler } from './host/sampler.ts'
import { type Identity, signingKeyFile } from './identity.ts'
import type { EngineLimits } from './inference/engines.ts'
import { createModelQuestion } from './inference/model-question.ts'
import { createHostProbes } from './probes/host-probes.ts'
import { createHostQuestion } from './probes/host-question.ts'
import type { Question } from './questions/question.ts'
import { withQuestions } from './questions/with-questions.ts'
import type { Service } from './service.ts'
import { announceService } from './services/announce.ts'
import { commandsService } from './services/commands.ts'
import { credentialService } from './services/credential.ts'
import { DesiredService } from './services/desired.ts'
import { linkService } from './services/link.ts'
import { telemetryService } from './services/telemetry.ts'
import { witnessService } from './services/witness.ts'
import { openFleetUplink, reachOf } from './uplink/fleet-uplink.ts'
import type { Uplink } from './uplink/uplink.ts'
import type { Witness } from './witness.ts'

/** Services of a cell that belongs to a fleet. The epoch grows before any peer learns of this start. */
export const fleetServices = async (
  stored: Identity,
  health: HealthRegistry,
  gpus: GpuSampler,
  parts: FleetDaemonParts,
): Promise<Service[]> => {
  const cell = await openFleetCell(stored, health, gpus, parts)
  const { witness } = cell
  const { config, inference, logger } = parts
  const reach = reachOf(cell)
  const uplink = openFleetUplink(cell, reach)
  const announcement = { again: async (): Promise<void> => {} }
  const verbs = [
    ...listVerbs(cell, announcement),
    // the answers to a birth carry the time of the coordinators
    openCellFormation(cell, () => announcement.again()),
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
    ...listDeviceServices(cell, uplink, askAgain),
    openAutoRun(cell, uplink),
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
  { parts, identity, live, witness, devices, scope, gpus }: FleetCell,
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
    networks: scope.listProposals(),
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

/** Keys that a reload applies: the settings that a coordinator may set too, and discovery. */
const RELOADED = [
  'telemetry.interval_seconds',
  'log.level',
  'inference.slots',
  'inference.threads',
  'spool.max_bytes',
  'spool.drain_bytes_per_second',
  'tags',
  'discovery',
]

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
  const { parts, identity, live, births, devices, scope, discovery, listTrustedKeys, health } = cell
  const { config, local, onReload, inference, logger } = parts
  const restartEngines = async (limits: EngineLimits) => inference.restart?.(limits)
  const desired = new DesiredService({
    stateDir: config.state_dir,
    uplink,
    local: local ?? settingsOf(config),
    probationMs: config.probation_seconds * 1000,
    apply: (settings, envelopes) =>
      live.apply(settings, envelopes, {
        telemetry,
        uplink,
        restartEngines,
        setRegistered: async models => inference.setRegistered?.(models),
        devices: devices.host,
        discovery: scope,
        logger,
      }),
    health,
    engines: () => inference.reports(),
    trustedKeys: () => ({ cellId: identity.cell_id, trusted: listTrustedKeys() }),
    births,
    askAgain,
    logger,
  })
  onReload?.(RELOADED, own => {
    void desired.reload(settingsOf(own))
    void discovery.reload(own.discovery)
  })
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

const openAutoRun = ({ parts, scope, discovery, helpers }: FleetCell, uplink: Uplink): Service =>
  autoRunService({
    helpers,
    scope,
    config: discovery,
    modules: loadModules,
    keepFindings: body => uplink.keepFindings(body),
    budget: new AutoRunBudget({
      config: discovery,
      now: Date.now,
      nowMs: () => performance.now(),
    }),
    now: Date.now,
    nowMs: () => performance.now(),
    logger: parts.logger,
  })

const listQuestions = (cell: FleetCell): Question[] => [
  openHostProbes(cell),
  openDeviceQuestions(cell),
  createModuleQuestion({ ...cell, config: cell.discovery }),
  ...(cell.parts.inference.models === undefined
    ? []
    : [createModelQuestion(cell.parts.inference.models)]),
]

const openHostProbes = ({ parts: { config }, helpers }: FleetCell) =>
  createHostQuestion(createHostProbes({ helpers, config: config.probes, now: Date.now }))

const auditHead = ({ head }: Witness): Pick<Announce, 'audit_head'> => {
  const kept = head()
  return kept === undefined ? {} : { audit_head: kept }
}
