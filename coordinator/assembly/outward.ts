import { networkInterfaces } from 'node:os'
import type { Logger } from 'pino'
import { newId } from '../../shared/ids.ts'
import { a2aPush, type PushParts } from '../a2a/push/a2a-push.ts'
import { createPushConfigs } from '../a2a/push/push-configs.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { Events } from '../events/bus.ts'
import type { QueueFigures } from '../metrics/queue-figures.ts'
import { createSender } from '../outbound/sender.ts'
import { isTenantDisabled } from '../people/tenants.ts'
import { type JobKind, jobKinds } from '../queue/job-kind.ts'
import { countJobs } from '../queue/job-query.ts'
import { createQueue } from '../queue/queue.ts'
import { startWorker, type Worker } from '../queue/worker.ts'
import { openSealing } from '../signing/sealing.ts'
import type { WebhookRow } from '../store/delivery-tables.ts'
import type { Store } from '../store/store.ts'
import { deliverEvents } from '../webhooks/event-deliveries.ts'
import { webhookDelivery } from '../webhooks/webhook-delivery.ts'
import { createWebhooks } from '../webhooks/webhooks.ts'

export interface OutwardParts {
  config: Pick<CoordinatorConfig, 'state_dir' | 'outbound' | 'webhooks' | 'name'>
  store: Store
  events: Events
  figures: QueueFigures
  logger: Logger
  /** Whether who made a hook of a task sees the task now. */
  isSeen: PushParts['isSeen']
  /** Unix time, milliseconds. */
  now: () => number
  /** Kinds of work of other parts. */
  kinds?: readonly JobKind[]
}

const COUNT_EVERY_MS = 15_000

/** What is done later, and what goes out to addresses of users: queue, sender, webhooks, hooks of tasks. */
export const openOutward = async (parts: OutwardParts) => {
  const { config, store, events, figures, isSeen, logger, now } = parts
  const { ledger } = store
  const source = `/shoal/${config.name}`
  const sealing = await openSealing(config.state_dir)
  const sender = createSender({ config: config.outbound, own: ownAddresses, ended: figures.sent })

  const disabled = ({ id, tenant_id }: Pick<WebhookRow, 'id' | 'tenant_id'>, reason: string) => {
    logger.warn({ webhook: id, reason }, 'a webhook was disabled')
    events.publish('shoal.webhook.disabled', { tenant_id, reason }, id)
  }
  const delivery = webhookDelivery({
    ...{ config: config.webhooks, ledger, sender, sealing, now, disabled },
  })
  const pushConfigs = createPushConfigs({ ledger, sealing, sender })
  const isShut = (tenantId: string) => isTenantDisabled(ledger.read, tenantId)
  const push = a2aPush({
    ...{ config: config.webhooks, configs: pushConfigs, sender, isSeen, isShut, now },
  })
  const kinds = jobKinds([delivery, push, ...(parts.kinds ?? [])])
  let worker: Worker | undefined
  const queue = createQueue({ ledger, kinds: () => kinds, now, wake: () => worker?.wake() })
  const webhooks = createWebhooks({
    ...{ store, config: config.webhooks, sealing, sender, queue, source, now },
  })
  const deliveries = await deliverEvents({
    ...{ events, webhooks, queue, ledger, disabled, logger, now },
    maxPending: config.webhooks.max_pending,
  })
  worker = startWorker({
    ...{ ledger, kinds, logger, now },
    id: newId('worker'),
    ended: figures.attempted,
    gaveUp: ({ id, kind, tenantId }, reason) =>
      events.publish('shoal.job.dead', { kind, reason, tenant_id: tenantId ?? null }, id),
  })

  const count = (): void => {
    countJobs(ledger.read).then(figures.counted, error =>
      logger.warn({ err: error }, 'jobs were not counted'),
    )
  }
  count()
  const counting = setInterval(count, COUNT_EVERY_MS)

  /** What was heard is in the queue, and nothing runs any more. */
  const close = async (): Promise<void> => {
    clearInterval(counting)
    await deliveries.close()
    await worker.close()
  }
  return { sealing, sender, queue, webhooks, pushConfigs, close }
}

export type Outward = Awaited<ReturnType<typeof openOutward>>

export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap(found => found ?? [])
    .map(({ address }) => address)
