import type { Base } from '../base/base.ts'
import type { Events } from '../events/bus.ts'
import { sourceOf } from '../events/open.ts'
import type { Sender } from '../outbound/sender.ts'
import type { OpenQueue } from '../queue/open.ts'
import type { SecretSealer } from '../signing/sealing.ts'
import type { WebhookRow } from '../store/delivery-tables.ts'
import type { Store } from '../store/store.ts'
import { deliverEvents } from './event-deliveries.ts'
import { webhookDelivery } from './webhook-delivery.ts'
import { Webhooks } from './webhooks.ts'
import type { WebhooksConfig } from './webhooks-config.ts'

/** Addresses that tenants want their events at. */
interface WebhookViews {
  webhooks: Omit<Webhooks, 'active' | 'onChange'>
}

interface WebhookDomainParts extends Pick<Base, 'stack' | 'logger' | 'now'> {
  config: { name: string; webhooks: WebhooksConfig }
  store: Store
  events: Events
  sealing: SecretSealer
  sender: Sender
  work: Pick<OpenQueue, 'queue' | 'addKind'>
}

export const openWebhooks = async (parts: WebhookDomainParts): Promise<{ views: WebhookViews }> => {
  const { config, store, events, sealing, sender, work, stack, logger, now } = parts
  const { ledger } = store
  const { queue } = work
  const onDisabled = ({ id, tenant_id }: Pick<WebhookRow, 'id' | 'tenant_id'>, reason: string) => {
    logger.warn({ webhook: id, reason }, 'a webhook was disabled')
    events.publish('shoal.webhook.disabled', { tenant_id, reason }, id)
  }
  work.addKind(
    webhookDelivery({ config: config.webhooks, ledger, sender, sealing, now, onDisabled }),
  )
  const source = sourceOf(config)
  const webhooks = new Webhooks({
    store,
    config: config.webhooks,
    sealing,
    sender,
    queue,
    source,
    now,
  })
  const deliveries = await deliverEvents({
    events,
    webhooks,
    queue,
    ledger,
    maxPending: config.webhooks.max_pending,
    onDisabled,
    logger,
    now,
  })
  stack.defer(() => deliveries.close())
  return { views: { webhooks } }
}
