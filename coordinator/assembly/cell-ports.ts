import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openPlainPort, type PlainPort } from '../broker/plain-port.ts'
import type { CoordinatorConfig } from '../config.ts'
import { NO_BOOT_ID } from '../http/cell-caller.ts'
import { headerCheck, newRequestId } from '../http/safety.ts'
import { acceptUpgrades } from '../http/upgrades.ts'
import { openLink } from '../link/link.ts'
import type { ControlPlane } from './control-plane.ts'

export interface CellPortParts {
  config: CoordinatorConfig
  plane: Pick<ControlPlane, 'admission' | 'authenticate' | 'bus' | 'fleet'>
  draining: () => boolean
  logger: Logger
}

/** Links of one cell at a time: the old one may not have ended when the new one comes. */
const MAX_LINKS = 4

/** The two upgrades of the one port through which cells come in. */
export const openUpgrades = (app: FastifyInstance, parts: CellPortParts): void => {
  const { config, plane, draining, logger } = parts
  const pingEveryMs = config.presence.ping_seconds * 1000
  const { fleet } = plane
  const links = new Map<string, number>()
  acceptUpgrades(app.server, {
    check: headerCheck(config),
    logger,
    authenticate: plane.authenticate,
    arrived: plane.admission.arrived,
    draining,
    answerHeaders: ({ socket }) =>
      app.answerHeaders({ id: newRequestId(), ip: socket.remoteAddress ?? '', key: undefined }),
    openMqtt: (socket, cellId) => {
      plane.bus.handle(socket, cellId)
    },
    openLink: (socket, cellId) => {
      const open = links.get(cellId) ?? 0
      if (open >= MAX_LINKS) {
        logger.warn({ cell: cellId, open }, 'too many links of one cell')
        socket.destroy()
        return
      }
      links.set(cellId, open + 1)
      socket.once('close', () => {
        const left = (links.get(cellId) ?? 1) - 1
        if (left === 0) links.delete(cellId)
        else links.set(cellId, left)
      })
      openLink({
        cellId,
        socket,
        logger,
        pingEveryMs,
        up: link => fleet.linkUp(link),
        down: link => fleet.linkDown(link),
      })
    },
  })
}

/** The plain MQTT port for other clients, where it is wanted. */
export const openMqttPort = async (parts: CellPortParts): Promise<PlainPort | undefined> => {
  const { config, plane, draining, logger } = parts
  if (!config.mqtt.enabled) return undefined
  return openPlainPort({
    bus: {
      handle: (socket, cellId) => {
        plane.admission.arrived(cellId, NO_BOOT_ID)
        plane.bus.handle(socket, cellId)
      },
    },
    authenticate: (cellId, credential, address) =>
      plane.authenticate(cellId, credential, { bootId: NO_BOOT_ID, address }),
    draining,
    logger,
    port: config.mqtt.port,
  })
}
