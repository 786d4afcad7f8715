import type { Logger } from 'pino'
import { newId } from '../../../shared/ids.ts'
import type { CloudEvent, Events } from '../../events/bus.ts'
import type { Flows } from '../../flows/flows.ts'
import type { Views } from '../context.ts'

interface EventStartParts {
  flows: Flows
  views: () => Views
  events: Pick<Events, 'subscribe'>
  logger: Pick<Logger, 'warn'>
}

/**
 * Starts synergies on their events, each once per event even when several coordinators see it.
 * Returns a function that stops this.
 */
export const startOnEvents = ({ flows, views, events, logger }: EventStartParts): (() => void) => {
  const start = async (synergyId: string, keyId: string, event: CloudEvent): Promise<void> => {
    const key = await views().keys.asNow(keyId)
    if (key === undefined) throw new TypeError(`the key ${keyId} is no longer valid`)
    const by = { tenantId: key.tenantId, keyId, requestId: newId('req'), actor: `key:${keyId}` }
    await flows.start(flows.synergy(synergyId), by, `${synergyId}:${event.id}`)
  }
  const stops = Object.entries(flows.synergies).flatMap(([id, { on, key_id }]) =>
    on === undefined || key_id === undefined
      ? []
      : events.subscribe(new Set([on]), event => {
          start(id, key_id, event).catch(error =>
            logger.warn({ synergy: id, event: event.id, err: error }, 'a synergy was not started'),
          )
        }),
  )
  return () => {
    for (const stop of stops) stop()
  }
}
