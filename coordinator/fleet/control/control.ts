import type { Logger } from 'pino'
import { type Runtime, waitBy } from '../../../shared/runtime.ts'
import type { Signer } from '../../../shared/signing.ts'
import { FIRST_CAPABILITY } from '../../../shared/wire/capability.ts'
import type { DeviceSeat } from '../../../shared/wire/estop.ts'
import type { TopicName } from '../../../shared/wire/topics.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Fleet } from '../cells/fleet.ts'
import { isGone } from '../cells/presence.ts'
import type { Cells } from '../enrolment/cells.ts'
import type { Models } from '../models/models.ts'
import type { CommandAdmissionParts } from './command-admission.ts'
import { type Commands, createCommands } from './commands.ts'
import { type Configs, createConfigs } from './configs.ts'
import { createFindVerbs } from './find-verbs.ts'

/** Control of cells: commands and configuration. */
interface ControlPlane {
  commands: Commands
  configs: Configs
  /** Receives the messages of cells about commands and configuration. */
  hears: ControlReceiver
}

export interface ControlReceiver {
  /** A cell has announced itself in the message with this id. */
  onBirth(cellId: string, messageId: string): void
  /** A cell has connected and is ready to listen. */
  onConnected(cellId: string): void
  onAck(cellId: string, body: unknown): void
  onReport(cellId: string, body: unknown): void
}

/** E-stops in force, by the devices that they cover. */
export interface StopFinder {
  findCovering(seat: DeviceSeat): { id: string; reason: string } | undefined
}

interface ControlParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  replicas: Pick<Replicas, 'id' | 'live'>
  signer: Signer
  /** Models that operators added; without them cells serve those of their own files. */
  models?: Pick<Models, 'settingsFor' | 'version' | 'changes' | 'look'>
  cells: Pick<Cells, 'get'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  /** E-stops; without them no device is ever held. */
  stops?: StopFinder
  publish: (name: TopicName, cellId: string, body: unknown, id?: string) => Promise<void>
  /** Longest wait of an urgent command for its outcome, in milliseconds. */
  urgentAnswerMs?: number
  /** Unix milliseconds. */
  now: () => number
  runtime: Runtime
  logger: Logger
}

export const createControl = async (parts: ControlParts): Promise<ControlPlane> => {
  const { store, replicas, signer, cells, fleet, publish, now, runtime, logger } = parts
  const cellKeys = new Map<string, string>()

  const isHere = (cellId: string): boolean => {
    const presence = fleet.cell(cellId)?.presence
    return presence !== undefined && presence !== 'unknown' && !isGone(presence)
  }

  /**
   * Returns the tags of a cell. Those of its join token come last, so that a cell cannot override
   * them by announcing more.
   */
  const tagsOf = async (cellId: string): Promise<string[] | undefined> => {
    const cell = await cells.get(cellId)
    if (cell === undefined || cell.revokedAt !== undefined) return undefined
    const own = fleet.cell(cellId)?.announce?.tags ?? []
    return [...new Set([...own.filter(tag => !cell.tags.includes(tag)), ...cell.tags])]
  }

  /** A cell has one key for life. */
  const cellKey = async (cellId: string): Promise<string | undefined> => {
    const key = cellKeys.get(cellId) ?? (await cells.get(cellId))?.publicKey
    if (key !== undefined) cellKeys.set(cellId, key)
    return key
  }

  const findCapability = (cellId: string): number | undefined => {
    const announce = fleet.cell(cellId)?.announce
    return announce && (announce.capability ?? FIRST_CAPABILITY)
  }
  const capability = (cellId: string): number => findCapability(cellId) ?? FIRST_CAPABILITY

  const findStop: CommandAdmissionParts['findStop'] = (cellId, deviceId) => {
    const devices = fleet.cell(cellId)?.announce?.devices
    const { site = null, name } = devices?.find(one => one.device_id === deviceId) ?? {}
    const stop = parts.stops?.findCovering({ cellId, deviceId, site })
    return stop && { id: stop.id, reason: stop.reason, device: name ?? deviceId }
  }

  const commands = await createCommands({
    ledger: store.ledger,
    replicas,
    signer,
    verbs: createFindVerbs(cellId => fleet.cell(cellId)?.announce),
    capability,
    findStop,
    isHere,
    cellKey,
    publish: command => publish('cmd', command.cell_id, command, command.id),
    ...(parts.urgentAnswerMs && { urgentAnswerMs: parts.urgentAnswerMs }),
    now,
    nowMs: runtime.nowMs,
    wait: waitBy(runtime),
    runtime,
    logger,
  })
  const configs = await createConfigs({
    store,
    signer,
    ...(parts.models && { models: parts.models }),
    tagsOf,
    capability: findCapability,
    here: function* () {
      for (const { id } of fleet.cells()) if (isHere(id)) yield id
    },
    publish: (cellId, desired) => publish('desired', cellId, desired),
    now,
    runtime,
    logger,
  })

  const logDropped = (cellId: string, about: string) => (error: Error) =>
    logger.warn({ cell: cellId, about, reason: error.message.slice(0, 300) }, 'message dropped')

  return {
    commands,
    configs,
    hears: {
      onBirth: (cellId, messageId) => {
        configs.answerBirth(cellId, messageId).catch(logDropped(cellId, 'desired'))
      },
      onConnected: cellId => commands.sendOpen(cellId),
      onAck: (cellId, body) => {
        commands.acknowledge(cellId, body).catch(logDropped(cellId, 'ack'))
      },
      onReport: configs.recordReport,
    },
  }
}
