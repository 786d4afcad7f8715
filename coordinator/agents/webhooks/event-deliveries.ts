import { isTenantDisabled } from '../../access/people/tenants.ts'
import type { CloudEvent, Events } from '../../kernel/events/bus.ts'
import { eventOf, readEventsAfter } from '../../kernel/events/event-rows.ts'
import { isWanted, mayHear } from '../../kernel/events/topics.ts'
import type { Queue } from '../../kernel/queue/queue.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { moveCursor, readCursor } from './cursor.ts'
import { webhookTable } from './webhook.table.ts'
import { isGoingTo, type Webhook } from './webhook.ts'
import { deliveryJob } from './webhook-delivery.ts'
import type { WebhookPace } from './webhook-pace.ts'
import type { Webhooks } from './webhooks.ts'

interface EventDeliveryParts {
  events: Pick<Events, 'position' | 'onRewind'>
  webhooks: Pick<Webhooks, 'active'>
  queue: Pick<Queue, 'addWithin' | 'wake'>
  pace: Pick<WebhookPace, 'admit'>
}

/** An event with the webhooks that want it. */
interface WantedEvent {
  seq: number
  event: CloudEvent
  webhooks: Webhook[]
}

const PAGE = 64
/** Jobs per transaction, beyond those of a single event. */
const MAX_JOBS = 64

/**
 * Puts every event into the queue once for each webhook that wants it, in the order of the events.
 * The leader does it: it reads the events from a cursor that moves in the transaction of the jobs,
 * so that the next leader goes on exactly there.
 */
export class EventDeliveries {
  readonly #parts: EventDeliveryParts
  /** Number up to which no event is wanted, or is in the queue; the cursor may lag behind it. */
  #scanned: number | undefined
  /** Stops listening to the events. */
  readonly stop: () => void

  constructor(parts: EventDeliveryParts) {
    this.#parts = parts
    this.stop = parts.events.onRewind(() => {
      this.#scanned = undefined
    })
  }

  /** Puts what is new into the queue. Calls must not overlap. */
  async deliver(ledger: Ledger): Promise<void> {
    try {
      while (await this.#deliverPage(ledger));
    } catch (error) {
      // the next database may have lost what was done
      this.#scanned = undefined
      throw error
    }
  }

  /** Returns false when nothing was left. */
  async #deliverPage(ledger: Ledger): Promise<boolean> {
    const { events, webhooks } = this.#parts
    const from = this.#scanned ?? (await readCursor(ledger.read))
    this.#scanned = from
    const newest = events.position()
    // what this process has not read yet may have numbers that were given before
    const rows = (await readEventsAfter(ledger.read, from, PAGE)).filter(({ seq }) => seq <= newest)
    if (rows.length === 0) return false
    // read after the events: a webhook that is created later does not get them
    const active = await webhooks.active()
    const wanted = rows.flatMap(row => findWanted(row.seq, eventOf(row), active))
    const due = takeSome(wanted)
    if (due.length > 0) await this.#enqueue(ledger, due)
    const until = due.length < wanted.length ? due.at(-1)?.seq : rows.at(-1)?.seq
    // unless the events were rewound meanwhile
    if (this.#scanned === from) this.#scanned = active.length === 0 ? newest : until
    return true
  }

  /** Moves the stored cursor over events that nobody wants, so that they can be deleted. */
  async storeCursor(ledger: Ledger): Promise<void> {
    const seq = this.#scanned
    if (seq === undefined || seq === (await readCursor(ledger.read))) return
    await ledger.sealed.write(trx => moveCursor(trx, seq))
  }

  async #enqueue(ledger: Ledger, due: readonly WantedEvent[]): Promise<void> {
    const { queue } = this.#parts
    await ledger.sealed.write(async trx => {
      const done = await readCursor(trx)
      for (const { seq, event, webhooks } of due)
        if (seq > done) for (const webhook of webhooks) await this.#add(trx, webhook, event)
      await moveCursor(trx, (due.at(-1) as WantedEvent).seq)
      afterCommit(trx, () => queue.wake())
    })
  }

  async #add(trx: SealedTrx, webhook: Webhook, event: CloudEvent): Promise<void> {
    const { queue, pace } = this.#parts
    const { id, tenantId } = webhook
    const current = await findActive(trx, id)
    if (current === undefined || (await isTenantDisabled(trx, tenantId))) return
    if (await pace.admit(trx, current)) await queue.addWithin(trx, deliveryJob(webhook, event))
  }
}

const findWanted = (seq: number, event: CloudEvent, active: readonly Webhook[]): WantedEvent[] => {
  const webhooks = active.filter(
    webhook =>
      isGoingTo(webhook, seq) &&
      mayHear(event, { tenantId: webhook.tenantId, operator: true, sees: () => true }) &&
      isWanted(event.type, webhook.types),
  )
  return webhooks.length === 0 ? [] : [{ seq, event, webhooks }]
}

/** The first events, as many as fit into a transaction, and at least one. */
const takeSome = (wanted: readonly WantedEvent[]): readonly WantedEvent[] => {
  let jobs = 0
  const end = wanted.findIndex(({ webhooks }, i) => {
    jobs += webhooks.length
    return i > 0 && jobs > MAX_JOBS
  })
  return end === -1 ? wanted : wanted.slice(0, end)
}

const findActive = async (trx: SealedTrx, id: string) => {
  const row = await trx
    .selectFrom('webhooks')
    .select(['id', 'tenant_id', 'url', 'slowed_at', 'delivered_at'])
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirst()
  return row && webhookTable.readSome(row)
}
