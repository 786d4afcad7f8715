import { CELL_ID } from '../ids.ts'
import { PROTOCOL_VERSION } from '../version.ts'

/**
 * The one table of MQTT topics. The broker's access rules, the coordinator's inbox, the daemon's
 * subscriptions and `docs/protocol.md` are derived from it.
 *
 * `up` is published by the cell, `down` by the coordinator. `{cell}` stands for the cell's id.
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

export const topicFor = (name: TopicName, cellId: string): string =>
  ROOT + TOPICS[name].path.replace('{cell}', cellId)

/** The coordinator's subscription for an `up` topic of every cell. */
export const wildcardFor = (name: TopicName): string => topicFor(name, '+')

/** The name and cell of a topic, or undefined for one that is not in the table. */
export const parseTopic = (
  topic: string,
): { name: TopicName; cellId: string | undefined } | undefined => {
  if (!topic.startsWith(ROOT)) return undefined
  const rest = topic.slice(ROOT.length)
  if (rest === TOPICS.coordinator.path) return { name: 'coordinator', cellId: undefined }
  const [folder, cellId, name, ...more] = rest.split('/')
  if (folder !== 'cells' || more.length > 0) return undefined
  if (cellId === undefined || !CELL_ID.test(cellId)) return undefined
  if (name === undefined || !Object.hasOwn(TOPICS, name) || name === 'coordinator') return undefined
  return { name: name as TopicName, cellId }
}

/** Largest MQTT packet either side accepts, bytes. */
export const MAX_PACKET_BYTES = 256 * 1024
