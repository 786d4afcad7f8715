import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ShoalError } from '../shared/errors.ts'
import { notifySystemd, stallMeter, systemdNotify } from '../shared/notify.ts'
import { PROTOCOL_VERSION, VERSION } from '../shared/version.ts'
import type { Announce } from '../shared/wire/announce.ts'
import type { EngineReport } from '../shared/wire/telemetry.ts'
import { type DaemonConfig, DEFAULT_COORDINATOR_URL } from './config.ts'
import { enrol } from './enrol.ts'
import { chooseSampler, thisMachine } from './gpu/choose.ts'
import { createHealth, type Health } from './health.ts'
import { hostFacts } from './host/facts.ts'
import { hostSampler } from './host/sampler.ts'
import { beginEpoch, type Identity, readIdentity, writeIdentity } from './identity.ts'
import type { Service } from './service.ts'
import { announceService } from './services/announce.ts'
import { type Handle, linkService } from './services/link.ts'
import { localService } from './services/local.ts'
import { telemetryService } from './services/telemetry.ts'
import { lockState } from './state-lock.ts'
import { supervise } from './supervisor.ts'
import { Nudge } from './uplink/nudge.ts'
import { Uplink } from './uplink/uplink.ts'

/** What the daemon needs of its inference. */
export interface Inference extends Service {
  reports(): EngineReport[]
  onChange(listener: () => void): () => void
  handle: Handle
}

export interface DaemonParts {
  config: DaemonConfig
  env: Record<string, string | undefined>
  inference: Inference
  logger: Logger
  /** Stops the daemon; the promise then resolves. */
  signal: AbortSignal
}

/** Runs all services. Inference does not wait for the coordinator. */
export const daemon = async (parts: DaemonParts): Promise<void> => {
  const { config, env, inference, logger, signal } = parts
  await lockState(config.state_dir, signal)
  const stored = await readIdentity(config.state_dir)
  const token = stored === undefined ? await joinToken(config) : undefined
  const health = createHealth(logger)
  const start = (services: Service[]) => supervise({ services, signal, health, logger })

  const local = config.local.port > 0 ? [localService(config.local.port, inference.handle)] : []
  const running = [start([inference, ...local])]
  const longestStallMs = env.WATCHDOG_USEC ? stallMeter(signal) : () => 0
  running.push(notifySystemd({ env, send: systemdNotify(logger), signal, longestStallMs }))

  const identity = stored ?? (token && (await firstIdentity(token, parts)))
  if (identity) running.push(start(await fleetServices(identity, health, parts)))
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
    `this cell is not enrolled (${state_dir} holds no identity) and has no coordinator.join_token`,
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
  const { cell_id, credential } = await enrol({
    url,
    request: { token, name: config.name },
    timeoutSeconds: config.coordinator.connect_timeout_seconds,
    signal,
    logger,
  })
  const identity = { cell_id, credential, coordinator_url: url, epoch: 0 }
  await writeIdentity(config.state_dir, identity)
  logger.info({ cell_id, coordinator: url }, 'enrolled')
  return identity
}

/** The services of a cell that belongs to a fleet. The epoch grows before anybody hears of it. */
const fleetServices = async (
  stored: Identity,
  health: Health,
  { config, env, inference, logger, signal }: DaemonParts,
): Promise<Service[]> => {
  const url = config.coordinator.url ?? stored.coordinator_url
  const identity = await beginEpoch(config.state_dir, { ...stored, coordinator_url: url })
  logger.info({ cell_id: identity.cell_id, epoch: identity.epoch, coordinator: url }, 'this cell')

  const connectTimeoutSeconds = config.coordinator.connect_timeout_seconds
  const intervalSeconds = config.telemetry.interval_seconds
  const gpus = await chooseSampler(thisMachine(env.PATH, intervalSeconds))
  gpus.start(signal)
  const host = await hostFacts()
  const describe = (): Announce => ({
    name: config.name,
    version: VERSION,
    protocol: PROTOCOL_VERSION,
    host,
    gpus: gpus.facts(),
    engines: inference.reports(),
    tags: config.tags,
  })
  const spool = {
    folder: join(config.state_dir, 'spool', 'telemetry'),
    maxBytes: Math.floor((config.spool.max_bytes * config.spool.telemetry_percent) / 100),
    drainBytesPerSecond: config.spool.drain_bytes_per_second,
  }
  const reach = { identity, url, connectTimeoutSeconds, health, nudge: new Nudge() }
  const uplink = new Uplink({ ...reach, spool, logger })
  const onChange = (listener: () => void) => inference.onChange(listener)
  return [
    announceService({ uplink, describe, intervalSeconds, onChange, logger }),
    uplink,
    telemetryService({
      uplink,
      gpus,
      host: hostSampler({ stateDir: config.state_dir }),
      engines: () => inference.reports(),
      onChange,
      intervalSeconds,
    }),
    linkService({ ...reach, handle: inference.handle }),
  ]
}
