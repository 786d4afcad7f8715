import { join } from 'node:path'
import type { Logger } from 'pino'
import type { DeviceLink, LinkContext } from '../../devices/device-link.ts'
import { type LinkConfig, openLink } from '../../devices/links/index.ts'
import type { ReceivedEnvelopes } from '../../shared/wire/safety-envelope.ts'
import type { DevicesConfig } from './config.ts'
import { FILE_REMEDY, findFileFaults } from './config-faults.ts'
import { DeviceHost } from './device-host.ts'
import { MqttBridge } from './mqtt/mqtt-bridge.ts'
import { readSecret } from './read-secret.ts'
import { createHostResolver } from './resolve-host.ts'
import { openStopFile } from './rest/stop-file.ts'
import type { FindEstopResponse } from './run-device-verb.ts'

interface OpenDeviceHostParts {
  cellId: string
  /** Address of the coordinator, whose broker operators do not reach through this cell. */
  coordinatorUrl?: string
  /** State folder of the daemon. */
  stateDir: string
  config: DevicesConfig
  /** Links besides the configured ones. */
  links?: readonly DeviceLink[] | undefined
  /** Limits that the coordinator has set, as they were at the last end. */
  envelopes: ReceivedEnvelopes
  /** Finds the response of an e-stop for a device that it holds. */
  findEstopResponse?: FindEstopResponse
  env: LinkContext['env']
  logger: Logger
}

/** A host of devices, and what its links, questions and verbs share. */
export interface OpenedDeviceHost {
  host: DeviceHost
  /** MQTT brokers, those of the links and others in the scope. */
  mqtt: MqttBridge
  context: LinkContext
}

/** Creates the configured links and their host; nothing is connected before the host starts. */
export const openDeviceHost = async ({
  cellId,
  stateDir,
  config,
  links = [],
  envelopes,
  coordinatorUrl,
  findEstopResponse,
  env,
  logger,
}: OpenDeviceHostParts): Promise<OpenedDeviceHost> => {
  const context: LinkContext = {
    cellId,
    logger,
    now: Date.now,
    nowMs: () => performance.now(),
    resolveHost: createHostResolver(config.scope),
    readSecret,
    stateDir: join(stateDir, 'devices'),
    env,
  }
  for (const fault of await findFileFaults(config.links))
    logger.error({ fault }, `a link to devices cannot connect: ${FILE_REMEDY}`)
  const opened = await Promise.all(config.links.map(link => openSafely(link, context)))
  const all = [...opened.filter(link => link !== undefined), ...links]
  const host = new DeviceHost({
    config,
    links: all,
    envelopes,
    stopFile: openStopFile(context.stateDir),
    ...(findEstopResponse && { findEstopResponse }),
    ...context,
  })
  const listBrokers = () => host.listBrokers()
  return { host, mqtt: new MqttBridge({ context, listBrokers, coordinatorUrl }), context }
}

/** A link that cannot be created must not take the others with it. */
const openSafely = async (
  config: LinkConfig,
  context: LinkContext,
): Promise<DeviceLink | undefined> => {
  try {
    return await openLink(config, context)
  } catch (error) {
    const { message } = error as Error
    context.logger.error({ link: config.kind, reason: message.slice(0, 300) }, 'link not opened')
    return undefined
  }
}
