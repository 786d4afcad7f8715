import { CELL_ID, COMMAND_ID } from '../ids.ts'
import { PROTOCOL_VERSION } from '../version.ts'

/**
 * The one table of MQTT topics. The broker's access rules, the coordinator's inbox, the daemon's
 * subscriptions and `docs/protocol.md` are derived from it.
 *
 * `up` is published by the cell, `down` by the coordinator. `{cell}` stands for the cell's id,
 * `{id}` for a command's.
 */
export const TOPICS = {
  /** What the cell is: hardware, GPUs, models, versions. On every connect and on change. */
  birth: { path: 'cells/{cell}/birth', direction: 'up', qos: 1, retain: true },
  /** Presence: ready, draining; `lost` as last will. Carries the boot epoch. */
  state: { path: 'cells/{cell}/state', direction: 'up', qos: 1, retain: true },
  /** The newest sample; latest wins, never queued. */
  telemetry: { path: 'cells/{cell}/telemetry', direction: 'up', qos: 0, retain: false },
  /** Samples that were taken while the cell was away, from the disk spool, oldest first. */
  history: { path: 'cells/{cell}/history', direction: 'up', qos: 1, retain: false },
  /** Asks one cell to publish its birth again. */
  rebirth: { path: 'cells/{cell}/rebirth', direction: 'down', qos: 1, retain: false },
  /** What the cell is to be set to: the whole document. After every birth and on change. */
  desired: { path: 'cells/{cell}/desired', direction: 'down', qos: 1, retain: false },
  /** Which of it is in force, and what was wrong with the rest. */
  reported: { path: 'cells/{cell}/reported', direction: 'up', qos: 1, retain: false },
  /** One signed command. A retained one is never obeyed. */
  cmd: { path: 'cells/{cell}/cmd/{id}', direction: 'down', qos: 1, retain: false },
  /** What became of it, signed by the cell. */
  ack: { path: 'cells/{cell}/ack/{id}', direction: 'up', qos: 1, retain: false },
  /** Asks the cell to replace its credential now. */
  renew: { path: 'cells/{cell}/renew', direction: 'down', qos: 1, retain: false },
  /** The key the coordinator signs with, and who vouches for it. */
  trust: { path: 'cells/{cell}/trust', direction: 'down', qos: 1, retain: false },
  /** The newest row of the coordinator's audit, signed: the cell keeps the highest one. */
  witness: { path: 'cells/{cell}/witness', direction: 'down', qos: 1, retain: false },
  /** The coordinator's own presence. */
  coordinator: { path: 'coordinator/state', direction: 'down', qos: 1, retain: true },
} as const satisfies Record<string, TopicSpec>

export interface TopicSpec {
  path: string
  direction: 'up' | 'down'
  qos: 0 | 1
  retain: boolean
}

export type TopicName = keyof typeof TOPICS

const ROOT = `shoal/v${PROTOCOL_VERSION}/`

/** Topics that end with an id: one per command. */
export const endsWithId = (name: TopicName): boolean => TOPICS[name].path.endsWith('/{id}')

/** `id` is that of a command, for the topics that end with one. */
export const topicFor = (name: TopicName, cellId: string, id = '+'): string =>
  ROOT + TOPICS[name].path.replace('{cell}', cellId).replace('{id}', id)

/** The coordinator's subscription for an `up` topic of every cell. */
export const wildcardFor = (name: TopicName): string => topicFor(name, '+')

/** What a topic says: its name and cell, and the id of those that end with one. */
export interface ParsedTopic {
  name: TopicName
  cellId: string | undefined
  id?: string
}

/** The parts of a topic, or undefined for one that is not in the table. */
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

/** Largest MQTT packet either side accepts, bytes: the largest result, and what is around it. */
export const MAX_PACKET_BYTES = 320 * 1024
