import { type Actor, appendAudit } from '../audit/audit.ts'
import { cancelLane } from '../queue/job-store.ts'
import type { WebhookRow } from '../store/delivery-tables.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { SealedTrx } from '../store/store.ts'
import { webhookLaneOf } from './webhook.ts'

const BY_COORDINATOR: Actor = { actor: 'coordinator' }

/** Nothing is sent to it any more, and what waits is called off. False when it was disabled. */
export const disableWebhook = async (
  trx: SealedTrx,
  { id, tenant_id, url }: Pick<WebhookRow, 'id' | 'tenant_id' | 'url'>,
  reason: string,
  now: number,
): Promise<boolean> => {
  const { numUpdatedRows } = await trx
    .updateTable('webhooks')
    .set({ disabled_at: now, disabled_reason: reason, changed_at: now })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  const cancelled = await cancelLane(trx, webhookLaneOf(id), 'the webhook was disabled', now)
  await bumpRevision(trx, 'webhooks')
  await appendAudit(trx, {
    ...BY_COORDINATOR,
    at: now,
    tenant: tenant_id,
    action: 'webhook.disable',
    subject: id,
    outcome: 'done',
    details: { reason, host: new URL(url).host, cancelled },
  })
  return true
}
