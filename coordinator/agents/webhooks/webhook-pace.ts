import { openInLane } from '../../kernel/queue/job-lanes.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { DisableWebhook } from './disable.ts'
import { type Webhook, webhookLaneOf } from './webhook.ts'

/** Events that may wait for an address that takes them, as a multiple of `max_pending`. */
const SLOWED_FACTOR = 10
/** An address takes events when one has arrived there within this time. */
const TAKES_MS = 600_000

type PacedWebhook = Pick<Webhook, 'id' | 'tenantId' | 'url' | 'slowedAt' | 'deliveredAt'>

/** Reports a change of the pace of a webhook within the transaction. */
export type AnnouncePace = (
  trx: SealedTrx,
  webhook: Pick<Webhook, 'id' | 'tenantId'>,
  change: 'slowed' | 'caught_up',
  reason: string,
) => Promise<void>

interface PaceParts {
  maxPending: number
  disable: DisableWebhook
  announce: AnnouncePace
  /** Unix time, milliseconds. */
  now: () => number
}

/** Decides what becomes of a webhook for which many events wait. */
export class WebhookPace {
  readonly #parts: PaceParts

  constructor(parts: PaceParts) {
    this.#parts = parts
  }

  /**
   * True when one more event may wait. An address that takes events, only fewer than there are, is
   * slowed, which is reported once; one that takes none is disabled.
   */
  async admit(trx: SealedTrx, webhook: PacedWebhook): Promise<boolean> {
    const { maxPending, disable, announce, now } = this.#parts
    const most = maxPending * SLOWED_FACTOR
    const waiting = await openInLane(trx, webhookLaneOf(webhook.id), most)
    if (waiting < maxPending) return true
    const takes = webhook.deliveredAt !== undefined && now() - webhook.deliveredAt < TAKES_MS
    if (!takes || waiting >= most) {
      await disable(trx, webhook, `${waiting} events wait for it`)
      return false
    }
    if (webhook.slowedAt === undefined) {
      await setSlowed(trx, webhook.id, now())
      const reason = `${waiting} events wait for it: it takes fewer than there are; more than ${most} disable it`
      await announce(trx, webhook, 'slowed', reason)
    }
    return true
  }

  /** Ends the slowness of a webhook that has caught up, after a delivery. */
  async noteDelivery(trx: SealedTrx, webhook: PacedWebhook): Promise<void> {
    const { maxPending, announce } = this.#parts
    if (webhook.slowedAt === undefined) return
    const waiting = await openInLane(trx, webhookLaneOf(webhook.id), maxPending)
    if (waiting * 2 > maxPending) return
    await setSlowed(trx, webhook.id, null)
    await announce(trx, webhook, 'caught_up', `${waiting} events wait for it`)
  }
}

const setSlowed = async (trx: SealedTrx, id: string, at: number | null): Promise<void> => {
  await trx.updateTable('webhooks').set({ slowed_at: at }).where('id', '=', id).execute()
}
