import { parseTopic, TOPICS, topicFor } from '../../../shared/wire/topics.ts'

/** Authenticated peer: a cell, by its id. No other client may connect. */
interface Publication {
  topic: string
  qos: number
}

/** A cell publishes on its own `up` topics and nowhere else. */
export const mayPublish = (cellId: string, { topic, qos }: Publication): boolean => {
  const parsed = parseTopic(topic)
  return (
    parsed !== undefined &&
    parsed.cellId === cellId &&
    TOPICS[parsed.name].direction === 'up' &&
    qos <= 1
  )
}

/**
 * A cell subscribes to exactly its own `down` topics and the coordinator's. The one wildcard is the
 * id at the end of its own commands.
 */
export const maySubscribe = (cellId: string, filter: string): boolean => {
  if (filter === topicFor('cmd', cellId)) return true
  const parsed = parseTopic(filter)
  return (
    parsed !== undefined &&
    TOPICS[parsed.name].direction === 'down' &&
    (parsed.cellId === undefined || parsed.cellId === cellId)
  )
}
