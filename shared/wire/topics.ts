import { CELL_ID, COMMAND_ID } from '../ids.ts'
import { PROTOCOL_VERSION } from '../version.ts'

/**
 * The only table of MQTT topics. The broker's access rules, the coordinator's inbox, the daemon's
 * subscriptions and `docs/protocol.md` are derived from it.
 * `up` is published by the cell, `down` by the coordinator. `{cell}` stands for the cell's id,
 * `{id}` for a command's.
 */
export const TOPICS = {
  /**
   * Description of the cell: hardware, GPUs, models, versions. Sent on every connect and on change.
   */
  birth: { path: 'cells/{cell}/birth', direction: 'up', qos: 1, retain: true },
  /** Presence: ready, draining, stopped; `lost` as last will. Carries the boot epoch. */
  state: { path: 'cells/{cell}/state', direction: 'up', qos: 1, retain: true },
  /** Newest sample; the latest one wins and is never queued. */
  telemetry: { path: 'cells/{cell}/telemetry', direction: 'up', qos: 0, retain: false },
  /** Samples taken while disconnected, from the disk spool, oldest first. */
  history: { path: 'cells/{cell}/history', direction: 'up', qos: 1, retain: false },
  /** Asks one cell to publish its birth again. */
  rebirth: { path: 'cells/{cell}/rebirth', direction: 'down', qos: 1, retain: false },
  /** Desired settings of the cell, as a whole document. Sent after every birth and on change. */
  desired: { path: 'cells/{cell}/desired', direction: 'down', qos: 1, retain: false },
  /** Settings in force, and the errors of the others. */
  reported: { path: 'cells/{cell}/reported', direction: 'up', qos: 1, retain: false },
  /** One signed command. A retained one is never executed. */
  cmd: { path: 'cells/{cell}/cmd/{id}', direction: 'down', qos: 1, retain: false },
  /** Outcome of a command, signed by the cell. */
  ack: { path: 'cells/{cell}/ack/{id}', direction: 'up', qos: 1, retain: false },
  /** Readings of devices that have changed; the latest ones win and are never queued. */
  devices: { path: 'cells/{cell}/devices', direction: 'up', qos: 0, retain: false },
  /** Findings of modules that ran by themselves, from the disk spool, in order. Level 7. */
  findings: { path: 'cells/{cell}/findings', direction: 'up', qos: 1, retain: false },
  /** E-stops in force and released, signed, as a whole document. Sent after every birth and change. */
  estop: { path: 'cells/{cell}/estop', direction: 'down', qos: 1, retain: false },
  /** E-stops that are latched on the cell, signed by it. */
  estopped: { path: 'cells/{cell}/estopped', direction: 'up', qos: 1, retain: false },
  /** Requests the cell to replace its credential now. */
  renew: { path: 'cells/{cell}/renew', direction: 'down', qos: 1, retain: false },
  /** Key that the coordinator signs with, and the endorsements for it. */
  trust: { path: 'cells/{cell}/trust', direction: 'down', qos: 1, retain: false },
  /** Newest row of the coordinator's audit, signed: the cell keeps the highest one. */
  witness: { path: 'cells/{cell}/witness', direction: 'down', qos: 1, retain: false },
  /**
   * Coordinators that live, see `replicas.ts`. Sent after every birth and on change to cells of
   * level 5; a cell subscribes to it only at a coordinator that names its id in the upgrade.
   */
  replicas: { path: 'cells/{cell}/replicas', direction: 'down', qos: 1, retain: false },
  /** Presence of the coordinator. */
  coordinator: { path: 'coordinator/state', direction: 'down', qos: 1, retain: true },
} as const satisfies Record<string, TopicSpec>

interface TopicSpec {
  path: string
  direction: 'up' | 'down'
  qos: 0 | 1
  retain: boolean
}

export type TopicName = keyof typeof TOPICS

const FLEET = 'shoal/'
const ROOT = `${FLEET}v${PROTOCOL_VERSION}/`

/** True for topics of fleets, of any version of the protocol. */
export const isFleetTopic = (topic: string): boolean => topic.startsWith(FLEET)

/** True for topics that end with a command id. */
const endsWithId = (name: TopicName): boolean => TOPICS[name].path.endsWith('/{id}')

/** Returns the topic of a cell; `id` is the command id of topics that end with one. */
export const topicFor = (name: TopicName, cellId: string, id = '+'): string =>
  ROOT + TOPICS[name].path.replace('{cell}', cellId).replace('{id}', id)

/** Coordinator's subscription to an `up` topic of every cell. */
export const wildcardFor = (name: TopicName): string => topicFor(name, '+')

/** Name and cell of a topic, and the command id of topics that end with one. */
interface ParsedTopic {
  name: TopicName
  cellId: string | undefined
  id?: string
}

/** Parses a topic; undefined for one that is not in the table. */
export const parseTopic = (topic: string): ParsedTopic | undefined => {
  if (!topic.startsWith(ROOT)) return undefined
  const rest = topic.slice(ROOT.length)
  if (rest === TOPICS.coordinator.path) return { name: 'coordinator', cellId: undefined }
  const [folder, cellId, word, id, ...more] = rest.split('/')
  if (folder !== 'cells' || more.length > 0) return undefined
  if (cellId === undefined || !CELL_ID.test(cellId)) return undefined
  if (word === undefined || !Object.hasOwn(TOPICS, word) || word === 'coordinator') return undefined
  const name = word as TopicName
  if (id === undefined) return endsWithId(name) ? undefined : { name, cellId }
  return endsWithId(name) && COMMAND_ID.test(id) ? { name, cellId, id } : undefined
}

/** Largest MQTT packet that either side accepts, in bytes: the largest result and its envelope. */
export const MAX_PACKET_BYTES = 320 * 1024
