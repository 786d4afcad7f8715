import { CoordinatorClock } from './commands/clock.ts'
import type { DaemonParts } from './daemon-parts.ts'
import { readSharedEnvelopes } from './desired/desired-file.ts'
import { OpenBirths } from './desired/freshness.ts'
import { type OpenedDeviceHost, openDeviceHost } from './devices/open-device-host.ts'
import { CellScope } from './discovery/cell-scope.ts'
import { checkModuleConfig } from './discovery/check-config.ts'
import { LiveDiscovery } from './discovery/live-discovery.ts'
import type { CellEstop } from './estop/cell-estop.ts'
import type { GpuSampler } from './gpu/sampler.ts'
import type { HealthRegistry } from './health.ts'
import { createSpawner } from './helper/helper-child.ts'
import { Helpers } from './helper/helpers.ts'
import { beginEpoch, type Identity } from './identity.ts'
import { LiveSettings } from './live-settings.ts'
import { type OwnIdentity, ownIdentity } from './own-identity.ts'
import { settleAtStart } from './services/credential.ts'
import { openWitness, type Witness } from './witness.ts'

/** Parts of a daemon whose e-stops are loaded. */
export interface FleetDaemonParts extends DaemonParts {
  estop: CellEstop
}

/** A cell that belongs to a fleet, for its services. */
export interface FleetCell {
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
  /** Targets that modules may contact. */
  scope: CellScope
  /** Settings of modules. */
  discovery: LiveDiscovery
  /** Processes for foreign code. */
  helpers: Helpers
  health: HealthRegistry
  gpus: GpuSampler
}

/** Opens what the services of a cell share; its epoch grows before any peer learns of this start. */
export const openFleetCell = async (
  stored: Identity,
  health: HealthRegistry,
  gpus: GpuSampler,
  parts: FleetDaemonParts,
): Promise<FleetCell> => {
  const { config, logger, signal } = parts
  const helpers = await openHelpers(parts)
  const discovery = new LiveDiscovery({
    config: config.discovery,
    helper: helpers.get('host'),
    logger,
  })
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
      findEstopResponse: deviceId => parts.estop.findResponse(deviceId),
      env: parts.env,
      logger,
    }),
    listTrustedKeys,
    scope: new CellScope({ config: discovery }),
    discovery,
    helpers,
    health,
    gpus,
  }
}

/** A fault in the settings of a module ends the start, as any other fault of the configuration. */
const openHelpers = async ({ config, env, signal }: FleetDaemonParts): Promise<Helpers> => {
  const helpers = new Helpers({ spawn: createSpawner(env) })
  signal.addEventListener('abort', () => helpers.stop(), { once: true })
  await checkModuleConfig(config.discovery, helpers.get('host'))
  return helpers
}
