import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../shared/wait.ts'
import { restartMs } from './backoff.ts'
import type { HealthRegistry } from './health.ts'
import type { Service, ServiceContext } from './service.ts'

interface SupervisorOptions {
  /** Services in the order of their start; none waits for another. */
  services: Service[]
  /** Stops everything. */
  signal: AbortSignal
  health: HealthRegistry
  logger: Logger
  wait?: Wait
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

/** A service that ran this long counts as sound again: its next pause is the shortest. */
const SOUND_MS = 60_000

/**
 * Keeps every service running until the signal aborts, and then resolves. A service that fails is
 * started again after a pause; the others do not notice.
 */
export const supervise = async (options: SupervisorOptions): Promise<void> => {
  await Promise.all(options.services.map(service => keepRunning(service, options)))
}

const keepRunning = async (service: Service, options: SupervisorOptions): Promise<void> => {
  const { signal, health, logger, wait = realWait, now = () => performance.now() } = options
  let failures = 0
  while (!signal.aborted) {
    health.report(service.name, 'starting')
    const startedAt = now()
    const error = await runOnce(service, signal, () => health.report(service.name, 'running'))
    if (error === undefined) break
    if (now() - startedAt >= SOUND_MS) failures = 0
    const pauseMs = restartMs(failures++)
    logger.debug({ service: service.name, error }, 'service failed')
    health.report(service.name, 'waiting', `${error.message}; next try in ${pauseMs / 1000} s`)
    await wait(pauseMs, signal)
  }
  health.report(service.name, 'stopped')
}

/** Runs a service once. Resolves with the error that ended it, or with undefined after a stop. */
const runOnce = (
  service: Service,
  signal: AbortSignal,
  onRunning: () => void,
): Promise<Error | undefined> =>
  new Promise(resolve => {
    const life = new AbortController()
    const end = (error?: Error) => {
      signal.removeEventListener('abort', stop)
      life.abort()
      resolve(error)
    }
    const stop = () => end()
    signal.addEventListener('abort', stop)
    const context = { signal: life.signal, fail: (error: Error) => end(error) }
    startSafely(service, context).then(() => {
      if (!life.signal.aborted) onRunning()
    }, end)
  })

/** Turns an error thrown before the first await into a rejection. */
const startSafely = async (service: Service, context: ServiceContext): Promise<void> =>
  service.start(context)
