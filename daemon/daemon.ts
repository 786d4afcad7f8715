import { readFile } from 'node:fs/promises'
import { ShoalError } from '../shared/errors.ts'
import { watchHeap } from '../shared/heap-watch.ts'
import { createStallMeter, createSystemdNotify, notifySystemd } from '../shared/notify.ts'
import { openSigner } from '../shared/signing.ts'
import { lockState } from '../shared/state-lock.ts'
import { type DaemonConfig, DEFAULT_COORDINATOR_URL } from './config.ts'
import type { DaemonParts } from './daemon-parts.ts'
import { countAnswers, createStopSignal } from './draining.ts'
import { enrol } from './enrol.ts'
import { CellEstop } from './estop/cell-estop.ts'
import { EstopLatch } from './estop/latch.ts'
import { openLatchFile } from './estop/latch-file.ts'
import { openEstopSocket } from './estop/local-socket.ts'
import { fleetServices } from './fleet-services.ts'
import { chooseSampler, thisMachine } from './gpu/choose.ts'
import { type GpuSampler, noGpus } from './gpu/sampler.ts'
import { createHealth, isSound } from './health.ts'
import { type Identity, readIdentity, signingKeyFile, writeIdentity } from './identity.ts'
import { cellMetrics } from './metrics/cell-metrics.ts'
import { withMetrics } from './metrics/with-metrics.ts'
import type { Service } from './service.ts'
import { localService } from './services/local.ts'
import { supervise } from './supervisor.ts'

/** Runs all services. Inference does not wait for the coordinator. */
export const daemon = async (given: DaemonParts): Promise<void> => {
  const answers = countAnswers(given.inference.handle)
  const leave = given.leave ?? new AbortController().signal
  const drainSeconds = given.config.drain_seconds
  const signal = createStopSignal({ leave, signal: given.signal, answers, drainSeconds })
  const watched: { gpus: GpuSampler } = { gpus: noGpus }
  const metrics = () => cellMetrics(given.inference, watched.gpus)
  const inference = { ...given.inference, handle: withMetrics(metrics, answers.handle) }
  const parts = { ...given, inference, leave, signal }
  const { config, env, logger } = parts
  await lockState(config.state_dir, signal, { onLost: message => logger.error(message) })
  const estop = await openEstop(parts)
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
  watchHeap({ logger, signal })
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
  if (identity)
    running.push(start(await fleetServices(identity, health, gpus, { ...parts, estop })))
  else logger.warn('no identity and no join token: this cell serves its own machine only')
  await Promise.all(running)
}

/** Loads the e-stops before anything can move, and lets the machine itself engage one. */
const openEstop = async ({ config, signal, logger }: DaemonParts): Promise<CellEstop> => {
  const file = openLatchFile(config.state_dir)
  const latch = await EstopLatch.open({ file, now: Date.now, logger })
  const estop = new CellEstop({ latch, now: Date.now, logger })
  await openEstopSocket({ stateDir: config.state_dir, estop, signal, logger })
  return estop
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
