import type { Logger } from 'pino'
import type { CloudEvent, Events } from '../../coordinator/kernel/events/bus.ts'
import { EventRing } from '../../coordinator/kernel/events/event-ring.ts'
import { afterCommit } from '../../coordinator/kernel/store/after-commit.ts'

interface MemoryEvents extends Events {
  publish(type: string, data: unknown, subject?: string): CloudEvent
}

/** Events of one process without a store: each is reported within the call that publishes it. */
export const createEvents = ({
  source,
  logger,
  now = Date.now,
  kept = 1000,
}: {
  source: string
  logger: Pick<Logger, 'warn'>
  now?: () => number
  kept?: number
}): MemoryEvents => {
  const ring = new EventRing({ logger, kept })
  const publish: MemoryEvents['publish'] = (type, data, subject) => {
    const seq = ring.position() + 1
    const time = new Date(now()).toISOString()
    const about = subject === undefined ? {} : { subject }
    const event: CloudEvent = {
      specversion: '1.0',
      id: String(seq),
      source,
      type,
      ...about,
      time,
      data,
    }
    ring.append(seq, event)
    return event
  }
  const { subscribe, onRewind, position, positionAfter, read } = ring
  return {
    publish,
    addWithin: async (trx, drafts) =>
      afterCommit(trx, () => {
        for (const { type, data, subject } of drafts) publish(type, data, subject ?? undefined)
      }),
    subscribe,
    onRewind,
    catchUp: async () => {},
    reload: async () => {},
    position,
    positionAfter,
    read,
  }
}
