import type { Logger } from 'pino'
import type { CloudEvent, Events } from '../events/bus.ts'
import { isWanted, mayHear } from '../events/topics.ts'
import { isTenantDisabled } from '../people/tenants.ts'
import { openInLane } from '../queue/job-store.ts'
import type { Queue } from '../queue/queue.ts'
import type { WebhookRow } from '../store/delivery-tables.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import { disableWebhook } from './disable.ts'
import { type Webhook, webhookLaneOf } from './webhook.ts'
import { deliveryJob } from './webhook-delivery.ts'
import type { Webhooks } from './webhooks.ts'

interface EventDeliveryParts {
  events: Pick<Events, 'subscribe'>
  webhooks: Pick<Webhooks, 'active' | 'onChange'>
  queue: Pick<Queue, 'addWithin' | 'wake'>
  ledger: Ledger
  maxPending: number
  onDisabled: (webhook: Pick<WebhookRow, 'id' | 'tenant_id'>, reason: string) => void
  logger: Pick<Logger, 'warn' | 'error'>
  /** Unix time, milliseconds. */
  now: () => number
}

interface EventDeliveries {
  /** Hears nothing more; resolves when what was heard is in the queue. */
  close(): Promise<void>
}

/** Puts every event into the queue once for each webhook that wants it, in the order they came. */
export const deliverEvents = async (parts: EventDeliveryParts): Promise<EventDeliveries> => {
  const { events, webhooks, queue, ledger, maxPending, logger, now } = parts
  let active = await webhooks.active()
  const under = new Set<Promise<void>>()

  const read = async (): Promise<void> => {
    try {
      active = await webhooks.active()
    } catch (error) {
      logger.error({ err: error }, 'webhooks could not be read')
    }
  }
  let reading = Promise.resolve()
  /** Reads run one at a time: a result read before a change must not replace a later one. */
  const refresh = (): Promise<void> => {
    reading = reading.then(read)
    return reading
  }
  const stopWatching = webhooks.onChange(refresh)

  const put = async (webhook: Webhook, event: CloudEvent): Promise<void> => {
    const { id, tenantId, url } = webhook
    const lane = webhookLaneOf(id)
    const full = await ledger.sealed.write(async trx => {
      if (!(await isActive(trx, id)) || (await isTenantDisabled(trx, tenantId))) return undefined
      if ((await openInLane(trx, lane, maxPending)) >= maxPending) {
        const reason = `${maxPending} events wait for it`
        return (await disableWebhook(trx, { id, tenant_id: tenantId, url }, reason, now()))
          ? reason
          : undefined
      }
      await queue.addWithin(trx, deliveryJob(webhook, event))
      return undefined
    })
    if (full !== undefined) parts.onDisabled({ id, tenant_id: tenantId }, full)
    queue.wake()
  }

  const deliver = (webhook: Webhook, event: CloudEvent): Promise<void> => {
    const work = put(webhook, event).finally(() => under.delete(work))
    under.add(work)
    return work
  }

  const stopHearing = events.subscribe('', event => {
    for (const webhook of active)
      if (
        mayHear(event, { tenantId: webhook.tenantId, operator: true, sees: () => true }) &&
        isWanted(event.type, webhook.types)
      )
        deliver(webhook, event).catch(error =>
          logger.error({ err: error, webhook: webhook.id, event: event.id }, 'an event is lost'),
        )
  })

  return {
    close: async () => {
      stopHearing()
      stopWatching()
      await Promise.allSettled(under)
    },
  }
}

/** The local copy may be slightly stale. */
const isActive = async (trx: SealedTrx, id: string): Promise<boolean> => {
  const query = trx.selectFrom('webhooks').select('disabled_at').where('id', '=', id)
  return (await query.executeTakeFirst())?.disabled_at === null
}
