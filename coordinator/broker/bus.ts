import type { TopicName } from '../../shared/wire/topics.ts'

/**
 * The control plane between coordinator and cells. One of the five ports: embedded in the
 * coordinator today, an outside MQTT broker later.
 */
export interface Bus {
  publish(name: TopicName, cellId: string, type: string, body: unknown): Promise<void>
  close(): Promise<void>
}

export interface BusParts {
  /** Boot epoch of the coordinator, in every envelope it sends. */
  epoch: number
  /** Any sign of life of a cell. */
  seen: (cellId: string) => void
  /** A message that passed the access rules; the payload is not checked yet. */
  receive: (name: TopicName, cellId: string, payload: Buffer) => void
}
