import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { CoordinatorConfig } from '../config.ts'
import type { Bus } from '../fleet/broker/bus.ts'
import { openPlainPort } from '../fleet/broker/plain-port.ts'
import type { Fleet } from '../fleet/cells/fleet.ts'
import { type CellAdmission, NO_BOOT_ID } from '../fleet/enrolment/admission.ts'
import { openLink } from '../gateway/link/link.ts'
import type { Base } from '../kernel/base/base.ts'
import type { Budgets } from '../kernel/budgets/budgets.ts'
import type { Replicas } from '../kernel/replicas/replicas.ts'
import type { RunningAnswers } from '../surfaces/http/running.ts'
import { headerCheck, newRequestId } from '../surfaces/http/safety.ts'
import { TrustedProxies } from '../surfaces/http/trusted-proxies.ts'
import { acceptUpgrades } from '../surfaces/http/upgrades.ts'

interface CellPortParts extends Pick<Base, 'stack' | 'logger' | 'runtime'> {
  config: CoordinatorConfig
  app: FastifyInstance
  admission: Pick<CellAdmission, 'authenticate' | 'noteConnection'>
  bus: Pick<Bus, 'handle'>
  budgets: Pick<Budgets, 'mqttStrangers'>
  fleet: Pick<Fleet, 'linkUp' | 'linkDown' | 'linkLate'>
  running: Pick<RunningAnswers, 'isLeaving'>
  replicas: Pick<Replicas, 'id'>
}

/** Links of one cell at a time: the old one may not have ended when the new one comes. */
const MAX_LINKS = 4

/** The two upgrades of the one port through which cells come in. */
export const openUpgrades = (parts: CellPortParts): object => {
  const { config, app, admission, bus, fleet, running, replicas, logger } = parts
  const pingEveryMs = config.presence.ping_seconds * 1000
  const links = new Map<string, number>()
  const proxies = new TrustedProxies(config.http.trusted_proxies)
  const addressOf = (request: IncomingMessage) => proxies.clientAddress(request)
  acceptUpgrades(app.server, {
    check: headerCheck(config),
    logger,
    replicaId: replicas.id,
    authenticate: async (...presented) =>
      (await admission.authenticate(...presented)) !== undefined,
    noteConnection: (cellId, bootId) => admission.noteConnection(cellId, bootId),
    isLeaving: running.isLeaving,
    addressOf,
    answerHeaders: request =>
      app.answerHeaders({ id: newRequestId(), address: addressOf(request), key: undefined }),
    openMqtt: (socket, cellId, caller) => {
      bus.handle(socket, cellId, caller)
    },
    openLink: (socket, cellId) => {
      const open = links.get(cellId) ?? 0
      if (open >= MAX_LINKS) {
        logger.warn({ cell: cellId, open }, 'the cell has too many open links')
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
        runtime: parts.runtime,
        pingEveryMs,
        onUp: link => fleet.linkUp(link),
        onDown: link => fleet.linkDown(link),
        onLate: (link, isLate) => fleet.linkLate(link, isLate),
      })
    },
  })
  return {}
}

/** The plain MQTT port for other clients, where it is wanted. */
export const openMqttPort = async (
  parts: CellPortParts,
): Promise<{ mqttUrl: string | undefined }> => {
  const { config, admission, bus, budgets, running, stack, logger } = parts
  if (!config.mqtt.enabled) return { mqttUrl: undefined }
  const port = await openPlainPort({
    bus: {
      handle: (socket, cellId) => {
        admission.noteConnection(cellId, NO_BOOT_ID)
        bus.handle(socket, cellId)
      },
    },
    authenticate: async (cellId, credential, address) =>
      (await admission.authenticate(cellId, credential, { bootId: NO_BOOT_ID, address })) !==
      undefined,
    strangers: budgets.mqttStrangers,
    isLeaving: running.isLeaving,
    logger,
    port: config.mqtt.port,
  })
  stack.defer(() => port.close())
  return { mqttUrl: port.url }
}
