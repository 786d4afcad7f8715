import type { Kysely } from 'kysely'
import * as z from 'zod'
import { isTenantDisabled } from '../../access/people/tenants.ts'
import type { CloudEvent } from '../../kernel/events/bus.ts'
import { EventView } from '../../kernel/events/event-view.ts'
import { deliveryLimits } from '../../kernel/outbound/delivery-limits.ts'
import { asJobFailure } from '../../kernel/outbound/job-failure.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import { signatureHeaders } from '../../kernel/outbound/signature.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import { defineJobKind, type JobKind } from '../../kernel/queue/job-kind.ts'
import type { NewJob } from '../../kernel/queue/job-store.ts'
import type { SecretSealer } from '../../kernel/signing/sealing.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { DisableWebhook } from './disable.ts'
import { webhookTable } from './webhook.table.ts'
import { type Webhook, webhookLaneOf } from './webhook.ts'
import type { WebhookPace } from './webhook-pace.ts'
import type { WebhooksConfig } from './webhooks-config.ts'

interface DeliveryParts {
  config: WebhooksConfig
  ledger: Ledger
  sender: Pick<Sender, 'send'>
  sealing: SecretSealer
  /** Unix time, milliseconds. */
  now: () => number
  disable: DisableWebhook
  pace: Pick<WebhookPace, 'noteDelivery'>
}

const WEBHOOK_DELIVERY = 'webhook-delivery'

/** One event on its way to one webhook; twice the same is one. */
export const deliveryJob = ({ id, tenantId }: Webhook, event: CloudEvent): NewJob => ({
  kind: WEBHOOK_DELIVERY,
  // as it is sent: a member without a value is none in JSON, and would be refused in a job
  payload: { webhook_id: id, event: JSON.parse(JSON.stringify(event)) },
  tenantId,
  lane: webhookLaneOf(id),
  onceKey: `${id}:${event.id}`,
})

const Payload = z.object({ webhook_id: z.string(), event: EventView })

const GONE = 410
const LATER = { early: true, retryAfterSeconds: 60 }
const BUSY = [429, 503]

/** One event to one webhook, signed as Standard Webhooks has it. */
export const webhookDelivery = (parts: DeliveryParts): JobKind => {
  const { config, ledger, sender, sealing, now, disable, pace } = parts

  const find = async (
    db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
    id: string,
  ): Promise<Webhook | undefined> => {
    const query = db.selectFrom('webhooks').selectAll().where('id', '=', id)
    const row = await query.executeTakeFirst()
    return row && webhookTable.read(row)
  }

  const secretsOf = ({ id, secretSealed, previousSealed, previousUntil = 0 }: Webhook) => {
    const both = previousSealed !== undefined && previousUntil > now()
    return [secretSealed, ...(both ? [previousSealed] : [])].map(each => sealing.open(each, id))
  }

  return defineJobKind({
    kind: WEBHOOK_DELIVERY,
    payload: Payload,
    account: () => ({ project: 'webhooks' }),
    ...deliveryLimits(config),
    // an event about a delivery would be delivered too
    announced: false,

    run: async ({ webhook_id, event }, { signal }) => {
      const webhook = await find(ledger.read, webhook_id)
      if (webhook === undefined) throw new JobError('the webhook is gone', { final: true })
      if (webhook.disabledAt !== undefined)
        throw new JobError('the webhook is disabled', { final: true })
      // what waits goes out when the tenant comes back
      if (await isTenantDisabled(ledger.read, webhook.tenantId))
        throw new JobError('the tenant is disabled', LATER)
      const body = JSON.stringify(event)
      const timestampSeconds = Math.floor(now() / 1000)
      const headers = {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        ...signatureHeaders({ id: event.id, timestampSeconds, body }, secretsOf(webhook)),
      }
      const message = { url: webhook.url, headers, body, isRepeated: true }
      const { status, retryAfterSeconds } = await sender.send(message, signal).catch(error => {
        throw asJobFailure(error)
      })
      if (status >= 200 && status < 300) return
      if (status === GONE) {
        const why = 'the target answered 410 Gone'
        await ledger.sealed.write(trx => disable(trx, webhook, why))
      }
      throw new JobError(`the target answered ${status}`, {
        final: status === GONE,
        retryAfterSeconds: BUSY.includes(status) ? retryAfterSeconds : 0,
      })
    },

    onEnd: async ({ webhook_id }, { state }, trx) => {
      const webhook = await find(trx, webhook_id)
      if (webhook === undefined || webhook.disabledAt !== undefined) return undefined
      const isDone = state === 'done'
      const dead = isDone ? 0 : webhook.deadInRow + 1
      await trx
        .updateTable('webhooks')
        .set(webhookTable.writeSome({ deadInRow: dead, ...(isDone && { deliveredAt: now() }) }))
        .where('id', '=', webhook_id)
        .execute()
      if (isDone) await pace.noteDelivery(trx, webhook)
      if (dead < config.disable_after) return undefined
      await disable(trx, webhook, `${dead} events in a row were not accepted`)
      return undefined
    },
  })
}
