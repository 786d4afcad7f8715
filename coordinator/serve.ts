import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { ShoalError } from '../shared/errors.ts'
import { buildApp } from './app.ts'
import { createEmbeddedBus, type EmbeddedBus } from './broker/broker.ts'
import { createInbox } from './broker/inbox.ts'
import type { CoordinatorConfig } from './config.ts'
import { createEvents } from './events/bus.ts'
import { createFleet, type Fleet } from './fleet/fleet.ts'
import { acceptUpgrades } from './http/upgrades.ts'
import { type Cells, createCells } from './keys/cells.ts'
import { createKeys } from './keys/keys.ts'
import { openLink } from './link/link.ts'
import { createQuota } from './quota/quota.ts'
import { createUsage } from './quota/usage.ts'
import { createRunning } from './running.ts'
import { openStore } from './store/store.ts'

export interface Coordinator {
  /** Where it listens: `http://127.0.0.1:7070`. */
  url: string
  /** Refuses new work, lets running answers end (bounded), then lets go of everything. */
  close(): Promise<void>
}

/** Times a second that silent cells are looked for. */
const SWEEPS_PER_SECOND = 4

/** Builds every part, in order, and listens. */
export const serve = async (config: CoordinatorConfig, logger: Logger): Promise<Coordinator> => {
  const now = Date.now
  const nowMs = () => performance.now()
  const store = await openStore(config.state_dir)
  const events = createEvents({ source: `/shoal/${config.name}`, logger })
  const keys = createKeys({ store, logger })
  const cells = createCells({ store, logger })
  const quota = createQuota({ store, tiers: config.tiers, logger })
  const usage = createUsage(store)
  const running = createRunning()

  const fleet = createFleet({
    limits: {
      suspectAfterMs: config.presence.suspect_after_seconds * 1000,
      deadAfterMs: config.presence.dead_after_seconds * 1000,
    },
    nowMs,
    changed: (cell, from) => {
      logger.info({ cell: cell.id, from, to: cell.presence }, 'cell changed')
      events.publish(`shoal.cell.${cell.presence}`, { from }, cell.id)
    },
  })
  for (const cell of await cells.list())
    if (cell.revokedAt === undefined) fleet.admit(cell.id, cell.epoch)

  const authenticate = async (cellId: string, credential: string): Promise<boolean> => {
    const cell = await cells.authenticate(cellId, credential)
    if (cell !== undefined) fleet.admit(cell.id, cell.epoch)
    return cell !== undefined
  }
  const born = (cellId: string, epoch: number): void => {
    cells.noteEpoch(cellId, epoch).catch(error => logger.error({ err: error }, 'epoch not kept'))
  }
  const bus = await createEmbeddedBus({
    logger,
    nowMs,
    authenticate,
    epoch: Math.floor(now() / 1000),
    seen: fleet.seen,
    receive: createInbox({ fleet, logger, born }),
  })
  const stopWatching = cells.onChange(() => void dropRevoked(cells, fleet, bus))

  /** A revoked cell is out at once, not with its next word. */
  const revoke: Cells['revoke'] = async (cellId, by) => {
    const cell = await cells.revoke(cellId, by)
    fleet.forget(cellId)
    bus.disconnect(cellId)
    return cell
  }

  const app = await buildApp({
    config,
    logger,
    now,
    keys,
    quota,
    usage,
    fleet,
    running,
    enrol: async request => {
      const { cellId, credential } = await cells.enrol(request)
      fleet.admit(cellId, 0)
      return { cell_id: cellId, credential }
    },
    views: { fleet, cells: { ...cells, revoke }, store, now },
    notReady: () => (running.draining() ? 'the coordinator is stopping' : undefined),
  })
  acceptUpgrades(app.server, {
    logger,
    authenticate,
    draining: running.draining,
    openMqtt: (socket, cellId) => {
      bus.handle(socket, cellId)
    },
    openLink: (socket, cellId) => {
      const pingEveryMs = config.presence.ping_seconds * 1000
      const { linkUp: up, linkDown: down } = fleet
      openLink({ cellId, socket, logger, pingEveryMs, up, down })
    },
  })

  const sweeper = setInterval(fleet.sweep, 1000 / SWEEPS_PER_SECOND)
  const url = await listen(app, config)
  logger.info({ url, state_dir: config.state_dir }, 'coordinator is up')

  const close = async (): Promise<void> => {
    await Promise.race([running.drain(), delay(config.http.drain_seconds * 1000)])
    clearInterval(sweeper)
    stopWatching()
    closeLinks(fleet)
    await bus.close()
    await app.close()
    await quota.close()
    keys.close()
    cells.close()
    await store.close()
    logger.info('coordinator is down')
  }
  return { url, close }
}

const delay = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds).unref())

/** Another process revoked a cell: its connections end now, not with their next word. */
const dropRevoked = async (cells: Cells, fleet: Fleet, bus: EmbeddedBus): Promise<void> => {
  for (const cell of await cells.list()) {
    if (cell.revokedAt === undefined || fleet.cell(cell.id) === undefined) continue
    fleet.forget(cell.id)
    bus.disconnect(cell.id)
  }
}

const closeLinks = (fleet: Fleet): void => {
  for (const cell of fleet.cells()) cell.link?.close()
}

const listen = async (app: FastifyInstance, { http }: CoordinatorConfig): Promise<string> => {
  try {
    return await app.listen({ host: http.host, port: http.port, backlog: 4096 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause
    const message = `port ${http.port} on ${http.host} is taken; choose another with http.port`
    throw new ShoalError('address_in_use', message, { cause })
  }
}
