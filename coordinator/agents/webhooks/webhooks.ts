import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { CloudEvent } from '../../kernel/events/bus.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import { newWebhookSecret } from '../../kernel/outbound/signature.ts'
import { cancelLane } from '../../kernel/queue/job-lanes.ts'
import type { Queue } from '../../kernel/queue/queue.ts'
import type { SecretSealer } from '../../kernel/signing/sealing.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import { readLastNumber } from '../../kernel/store/sequences.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { webhookTable } from './webhook.table.ts'
import { type Webhook, webhookLaneOf } from './webhook.ts'
import { deliveryJob } from './webhook-delivery.ts'
import type { WebhooksConfig } from './webhooks-config.ts'

interface NewWebhook {
  url: string
  types: string[]
  label: string
}

interface WebhookScope {
  tenantId: string
}

/** A webhook with its secret, which is shown now and never again. */
interface IssuedWebhook {
  webhook: Webhook
  secret: string
}

interface WebhookParts {
  store: Store
  config: WebhooksConfig
  sealing: SecretSealer
  sender: Pick<Sender, 'judge'>
  queue: Pick<Queue, 'addWithin' | 'wake'>
  /** Names this coordinator in events. */
  source: string
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
  logger: Pick<Logger, 'warn'>
}

/** Addresses to which tenants have their events sent. All methods but `create` throw `not_found`. */
export class Webhooks {
  readonly #parts: WebhookParts

  constructor(parts: WebhookParts) {
    this.#parts = parts
  }

  /** Throws `invalid_request` for an address that is not allowed, `conflict` for too many. */
  async create(webhook: NewWebhook, scope: WebhookScope, by: Actor): Promise<IssuedWebhook> {
    const { store, now } = this.#parts
    const { created, secret } = this.#newWebhook(webhook, scope, by)
    await store.ledger.sealed.write(async trx => {
      await this.#requireRoom(trx, scope.tenantId)
      created.afterSeq = await readLastNumber(trx, 'events')
      await trx.insertInto('webhooks').values(webhookTable.write(created)).execute()
      await auditWebhook(trx, 'create', created, { ...by, at: now() })
    })
    return { webhook: created, secret }
  }

  get(id: string, { tenantId }: WebhookScope): Promise<Webhook> {
    return find(this.#parts.store.ledger.read, id, tenantId)
  }

  /** Oldest first. */
  async list({ tenantId }: WebhookScope): Promise<Webhook[]> {
    const { store, logger } = this.#parts
    const query = store.ledger.read.selectFrom('webhooks').selectAll().orderBy('id')
    const rows = await query.where('tenant_id', '=', tenantId).execute()
    return readEach(rows, webhookTable.read, logger)
  }

  /** Creates a new secret; the previous one also signs for a day. */
  async rotate(id: string, scope: WebhookScope, by: Actor): Promise<IssuedWebhook> {
    const { sealing, now } = this.#parts
    const secret = newWebhookSecret()
    const webhook = await this.#change('rotate', [id, scope, by], before => ({
      secretSealed: sealing.seal(secret, id),
      previousSealed: before.secretSealed,
      previousUntil: now() + DAY_MS,
    }))
    return { webhook, secret }
  }

  /** Resumes a disabled webhook. Events that were cancelled meanwhile are not sent. */
  enable(id: string, scope: WebhookScope, by: Actor): Promise<Webhook> {
    return this.#change('enable', [id, scope, by], async ({ url }, trx) => {
      this.#parts.sender.judge(url)
      return {
        disabledAt: undefined,
        disabledReason: undefined,
        slowedAt: undefined,
        deadInRow: 0,
        afterSeq: await readLastNumber(trx, 'events'),
      }
    })
  }

  /** Deletes a webhook, even one that cannot be read. */
  async delete(id: string, { tenantId }: WebhookScope, by: Actor): Promise<Webhook> {
    const { store, now } = this.#parts
    return store.ledger.sealed.write(async trx => {
      const found = await find(trx, id, tenantId, row => webhookTable.readOr(row, UNKNOWN))
      await cancelLane(trx, webhookLaneOf(id), 'the webhook was deleted', now())
      await trx.deleteFrom('webhooks').where('id', '=', id).execute()
      await auditWebhook(trx, 'delete', found, { ...by, at: now() })
      return found
    })
  }

  /** Adds a test event to the queue. Throws `conflict` for a webhook that is disabled. */
  async test(
    id: string,
    { tenantId }: WebhookScope,
    by: Actor,
  ): Promise<{ eventId: string; jobId: string }> {
    const { store, queue, now } = this.#parts
    const event = this.#testEvent(id, tenantId)
    const job = await store.ledger.sealed.write(async trx => {
      const webhook = await find(trx, id, tenantId)
      if (webhook.disabledAt !== undefined)
        throw new ShoalError('conflict', `webhook ${id} is disabled`)
      await auditWebhook(trx, 'test', webhook, { ...by, at: now() })
      return queue.addWithin(trx, deliveryJob(webhook, event))
    })
    queue.wake()
    return { eventId: event.id, jobId: job.id }
  }

  /** Enabled webhooks of all tenants; one that cannot be read must not keep events from the others. */
  async active(): Promise<Webhook[]> {
    const { store, logger } = this.#parts
    const query = store.ledger.read.selectFrom('webhooks').selectAll().orderBy('id')
    const rows = await query.where('disabled_at', 'is', null).execute()
    return readEach(rows, webhookTable.read, logger)
  }

  #newWebhook(
    { url, types, label }: NewWebhook,
    { tenantId }: WebhookScope,
    by: Actor,
  ): { created: Webhook; secret: string } {
    const { sealing, sender, now, runtime } = this.#parts
    const id = runtime.ids.create('wh', now())
    const secret = newWebhookSecret()
    const created: Webhook = {
      id,
      tenantId,
      url: sender.judge(url).url.href,
      types,
      label,
      secretSealed: sealing.seal(secret, id),
      previousSealed: undefined,
      previousUntil: undefined,
      disabledAt: undefined,
      disabledReason: undefined,
      slowedAt: undefined,
      deadInRow: 0,
      afterSeq: 0,
      deliveredAt: undefined,
      createdBy: by.actor,
      createdAt: now(),
      changedAt: now(),
    }
    return { created, secret }
  }

  #testEvent(id: string, tenantId: string): CloudEvent {
    const { source, now, runtime } = this.#parts
    return {
      specversion: '1.0',
      id: runtime.ids.uuid(),
      source,
      type: 'shoal.webhook.test',
      subject: id,
      time: new Date(now()).toISOString(),
      data: { tenant_id: tenantId },
    }
  }

  async #requireRoom(trx: SealedTrx, tenantId: string): Promise<void> {
    const { max_per_tenant } = this.#parts.config
    const query = trx.selectFrom('webhooks').select('id').where('tenant_id', '=', tenantId)
    if ((await query.execute()).length >= max_per_tenant)
      throw new ShoalError('conflict', `a tenant may have ${max_per_tenant} webhooks`)
  }

  /** Changes one webhook, together with the row in the audit. */
  async #change(
    verb: string,
    [id, { tenantId }, by]: [string, WebhookScope, Actor],
    change: (webhook: Webhook, trx: SealedTrx) => Partial<Webhook> | Promise<Partial<Webhook>>,
  ): Promise<Webhook> {
    const { store, now } = this.#parts
    return store.ledger.sealed.write(async trx => {
      const before = await find(trx, id, tenantId)
      const after = { ...before, ...(await change(before, trx)), changedAt: now() }
      const row = webhookTable.write(after)
      await trx.updateTable('webhooks').set(row).where('id', '=', id).execute()
      await auditWebhook(trx, verb, after, { ...by, at: now() })
      return after
    })
  }
}

const auditWebhook = (
  trx: SealedTrx,
  verb: string,
  { id, tenantId, url, types }: Webhook,
  by: Actor & { at: number },
): Promise<unknown> =>
  appendAudit(trx, {
    ...by,
    tenant: tenantId,
    action: `webhook.${verb}`,
    subject: id,
    outcome: 'done',
    // the path of the address may be a secret of the receiver
    details: { host: URL.parse(url)?.host ?? null, types },
  })

/** Substitutes for the unreadable fields of a webhook that is being deleted. */
const UNKNOWN: Webhook = {
  id: '',
  tenantId: '',
  url: '',
  types: [],
  label: 'cannot be read',
  secretSealed: '',
  deadInRow: 0,
  afterSeq: 0,
  createdBy: '',
  createdAt: 0,
  changedAt: 0,
}

const find = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  id: string,
  tenantId: string,
  read = webhookTable.read,
): Promise<Webhook> => {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
  if (row?.tenant_id === tenantId) return read(row)
  throw createUnknownError('webhook', id)
}
