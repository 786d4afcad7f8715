import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { cancelLane } from '../../kernel/queue/job-lanes.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import { webhookTable } from './webhook.table.ts'
import { type Webhook, webhookLaneOf } from './webhook.ts'

/** Fields of a webhook that its report contains. */
type DisabledWebhook = Pick<Webhook, 'id' | 'tenantId' | 'url'>

/** Disables a webhook within a transaction, unless it is disabled, and reports that. */
export type DisableWebhook = (
  trx: SealedTrx,
  webhook: DisabledWebhook,
  reason: string,
) => Promise<void>

interface DisableParts {
  /** Reports the webhook within the transaction. */
  announce: DisableWebhook
  /** Unix time, milliseconds. */
  now: () => number
}

const BY_COORDINATOR: Actor = { actor: 'coordinator' }

/** Nothing is sent to a disabled webhook any more, and what waits is called off. */
export const createDisableWebhook =
  ({ announce, now }: DisableParts): DisableWebhook =>
  async (trx, webhook, reason) => {
    const { id, tenantId, url } = webhook
    const at = now()
    const disabled = {
      disabledAt: at,
      disabledReason: reason,
      slowedAt: undefined,
      changedAt: at,
    }
    const { numUpdatedRows } = await trx
      .updateTable('webhooks')
      .set(webhookTable.writeSome(disabled))
      .where('id', '=', id)
      .where('disabled_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
    const cancelled = await cancelLane(trx, webhookLaneOf(id), 'the webhook was disabled', at)
    await appendAudit(trx, {
      ...BY_COORDINATOR,
      at,
      tenant: tenantId,
      action: 'webhook.disable',
      subject: id,
      outcome: 'done',
      details: { reason, host: new URL(url).host, cancelled },
    })
    await announce(trx, webhook, reason)
  }
