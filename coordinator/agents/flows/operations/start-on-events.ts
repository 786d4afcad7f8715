import type { Logger } from 'pino'
import type { Runtime } from '../../../../shared/runtime.ts'
import { isOperator } from '../../../access/keys/key.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { CloudEvent, Events } from '../../../kernel/events/bus.ts'
import { mayHear } from '../../../kernel/events/topics.ts'
import type { Flows } from '../flows.ts'

interface EventStartParts {
  flows: Flows
  views: () => KeyViews
  events: Pick<Events, 'subscribe'>
  logger: Pick<Logger, 'warn'>
  runtime: Pick<Runtime, 'ids'>
}

/** Most runs of one synergy within an hour by events: a run may cause the event that starts it. */
const MOST_PER_HOUR = 60

/**
 * Starts synergies on the events that their keys may read, each once per event even when several
 * coordinators see it. Returns a function that stops this.
 */
export const startOnEvents = ({
  flows,
  views,
  events,
  logger,
  runtime,
}: EventStartParts): (() => void) => {
  const start = async (synergyId: string, keyId: string, event: CloudEvent): Promise<void> => {
    const key = await views().keys.asNow(keyId)
    if (key === undefined) throw new TypeError(`the key ${keyId} is no longer valid`)
    const hearer = { tenantId: key.tenantId, operator: isOperator(key), sees: () => true }
    if (!mayHear(event, hearer)) return
    const requestId = runtime.ids.create('req')
    const by = { tenantId: key.tenantId, keyId, requestId, actor: `key:${keyId}` }
    const onceKey = `${synergyId}:${event.id}`
    await flows.start(flows.synergy(synergyId), by, { onceKey, mostPerHour: MOST_PER_HOUR })
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
