import type { Logger } from 'pino'
import type { CoordinatorConfig } from '../config.ts'
import { publishCoordinator } from '../kernel/publish/open.ts'
import { openConnections } from '../surfaces/http/open-connections.ts'
import { openMqttPort } from './cell-ports.ts'
import { type CoordinatorOptions, openCoordinator, parts } from './coordinator.ts'
import {
  keepCertificate,
  leaveFirst,
  listen,
  openScrapePort,
  warnWhenBlocked,
} from './listening.ts'

export interface Coordinator {
  /** Address of the listener: `http://127.0.0.1:7070`. */
  url: string
  /** False when the store cannot be written, and a new start may help. */
  healthy(): boolean
  /** Requests that wait for room on a cell, by model. */
  queueLengths(): ReadonlyMap<string, number>
  /** Refuses new work, lets running answers end (bounded), then closes every part. */
  close(): Promise<void>
}

const served = [
  ...parts,
  openConnections,
  listen,
  warnWhenBlocked,
  openMqttPort,
  openScrapePort,
  keepCertificate,
  publishCoordinator,
  leaveFirst,
] as const

/** Opens every part in order, and listens. */
export const serve = async (
  config: CoordinatorConfig,
  logger: Logger,
  options: CoordinatorOptions = {},
): Promise<Coordinator> => {
  const opened = await openCoordinator(served, config, logger, options)
  const { url, listensOn, mqttUrl, shown, store, storeProblem, waiting } = opened
  const { state_dir } = config
  logger.info(
    { url, listens_on: listensOn, mqtt_url: mqttUrl, state_dir, ca_file: shown?.caFile },
    'coordinator is up',
  )
  return {
    url,
    // a supervisor's restart mends a disk or a process, but no database on another machine
    healthy: () => store.isShared || storeProblem() === undefined,
    queueLengths: () => waiting.lengths(),
    close: async () => {
      await opened.close()
      logger.info('coordinator is down')
    },
  }
}
