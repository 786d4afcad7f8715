import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { sourceOf } from '../../kernel/events/open.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import type { OpenQueue } from '../../kernel/queue/open.ts'
import type { SecretSealer } from '../../kernel/signing/sealing.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import { createDisableWebhook, type DisableWebhook } from './disable.ts'
import { EventDeliveries } from './event-deliveries.ts'
import { webhookDelivery } from './webhook-delivery.ts'
import { type AnnouncePace, WebhookPace } from './webhook-pace.ts'
import { Webhooks } from './webhooks.ts'
import type { WebhooksConfig } from './webhooks-config.ts'

/** Addresses that tenants want their events at. */
export interface WebhookViews {
  webhooks: Omit<Webhooks, 'active'>
}

interface WebhookDomainParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: { name: string; webhooks: WebhooksConfig }
  store: Store
  events: Events
  sealing: SecretSealer
  sender: Sender
  work: Pick<OpenQueue, 'queue' | 'addKind'>
}

export const openWebhooks = (parts: WebhookDomainParts): { views: WebhookViews } => {
  const { config, store, events, sealing, sender, work, now } = parts
  const { ledger } = store
  const { queue } = work
  const disable = createDisableWebhook({ announce: createAnnounce(parts), now })
  const pace = new WebhookPace({
    maxPending: config.webhooks.max_pending,
    disable,
    announce: createAnnouncePace(parts),
    now,
  })
  const delivery = { config: config.webhooks, ledger, sender, sealing, now, disable, pace }
  work.addKind(webhookDelivery(delivery))
  const source = sourceOf(config)
  const webhooks = new Webhooks({
    store,
    config: config.webhooks,
    sealing,
    sender,
    queue,
    source,
    now,
    runtime: parts.runtime,
    logger: parts.logger,
  })
  deliverEvents(parts, new EventDeliveries({ events, webhooks, queue, pace }))
  return { views: { webhooks } }
}

const createAnnounce =
  ({ events, logger }: Pick<WebhookDomainParts, 'events' | 'logger'>): DisableWebhook =>
  (trx, { id, tenantId }, reason) => {
    afterCommit(trx, () => logger.warn({ webhook: id, reason }, 'a webhook was disabled'))
    const data = { tenant_id: tenantId, reason }
    return events.addWithin(trx, [{ type: 'shoal.webhook.disabled', data, subject: id }])
  }

const createAnnouncePace =
  ({ events, logger }: Pick<WebhookDomainParts, 'events' | 'logger'>): AnnouncePace =>
  (trx, { id, tenantId }, change, reason) => {
    afterCommit(trx, () =>
      logger.warn(
        { webhook: id, reason },
        `a webhook has ${change === 'slowed' ? 'slowed down' : 'caught up'}`,
      ),
    )
    const data = { tenant_id: tenantId, reason }
    return events.addWithin(trx, [{ type: `shoal.webhook.${change}`, data, subject: id }])
  }

/** A new leader, and one whose store has failed, go on within this time. */
const LOOK_SECONDS = 1
const CURSOR_SECONDS = 60

/** Delivers while this process leads: when an event is reported, and now and then. */
const deliverEvents = (
  { events, leaderWork, stack, logger }: WebhookDomainParts,
  deliveries: EventDeliveries,
): void => {
  let isAwaited = false
  let isFailing = false
  let running: Promise<void> | undefined
  const run = async (ledger: Ledger): Promise<void> => {
    while (isAwaited) {
      isAwaited = false
      await deliveries.deliver(ledger)
      isFailing = false
    }
    // in the step that finds nothing more to do: a later call must not join a run that is over
    running = undefined
  }
  const start = (): Promise<void> => {
    const started = leaderWork
      .runOnce(run)
      .catch(error => {
        if (!isFailing) logger.warn({ err: error }, 'events for webhooks wait for the store')
        isFailing = true
      })
      .finally(() => {
        if (running === started) running = undefined
      })
    return started
  }
  const deliver = (): Promise<void> => {
    isAwaited = true
    running ??= start()
    return running
  }
  stack.defer(() => running)
  stack.defer(deliveries.stop)
  stack.defer(events.subscribe('', () => void deliver()))
  leaderWork.every('webhooks.deliver', LOOK_SECONDS, deliver)
  leaderWork.every('webhooks.cursor', CURSOR_SECONDS, ledger => deliveries.storeCursor(ledger))
}
