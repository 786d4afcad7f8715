import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { CloudEvent } from '../../kernel/events/bus.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import { newWebhookSecret } from '../../kernel/outbound/signature.ts'
import { cancelLane } from '../../kernel/queue/job-lanes.ts'
import type { Queue } from '../../kernel/queue/queue.ts'
import type { SecretSealer } from '../../kernel/signing/sealing.ts'
import { readLastNumber } from '../../kernel/store/sequences.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { WebhookRow } from './webhook.table.ts'
import { type Webhook, webhookLaneOf, webhookOf } from './webhook.ts'
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
    const { row, secret } = this.#newRow(webhook, scope, by)
    await store.ledger.sealed.write(async trx => {
      await this.#requireRoom(trx, scope.tenantId)
      row.after_seq = await readLastNumber(trx, 'events')
      await trx.insertInto('webhooks').values(row).execute()
      await auditWebhook(trx, 'create', row, { ...by, at: now() })
    })
    return { webhook: webhookOf(row), secret }
  }

  async get(id: string, { tenantId }: WebhookScope): Promise<Webhook> {
    return webhookOf(await find(this.#parts.store.ledger.read, id, tenantId))
  }

  /** Oldest first. */
  async list({ tenantId }: WebhookScope): Promise<Webhook[]> {
    const query = this.#parts.store.ledger.read.selectFrom('webhooks').selectAll().orderBy('id')
    return (await query.where('tenant_id', '=', tenantId).execute()).map(webhookOf)
  }

  /** Creates a new secret; the previous one also signs for a day. */
  async rotate(id: string, scope: WebhookScope, by: Actor): Promise<IssuedWebhook> {
    const { sealing, now } = this.#parts
    const secret = newWebhookSecret()
    const webhook = await this.#change('rotate', [id, scope, by], row => ({
      secret_sealed: sealing.seal(secret, row.id),
      previous_sealed: row.secret_sealed,
      previous_until: now() + DAY_MS,
    }))
    return { webhook, secret }
  }

  /** Resumes a disabled webhook. Events that were cancelled meanwhile are not sent. */
  enable(id: string, scope: WebhookScope, by: Actor): Promise<Webhook> {
    return this.#change('enable', [id, scope, by], async ({ url }, trx) => {
      this.#parts.sender.judge(url)
      const after_seq = await readLastNumber(trx, 'events')
      return {
        disabled_at: null,
        disabled_reason: null,
        slowed_at: null,
        dead_in_row: 0,
        after_seq,
      }
    })
  }

  async delete(id: string, { tenantId }: WebhookScope, by: Actor): Promise<Webhook> {
    const { store, now } = this.#parts
    const row = await store.ledger.sealed.write(async trx => {
      const found = await find(trx, id, tenantId)
      await cancelLane(trx, webhookLaneOf(id), 'the webhook was deleted', now())
      await trx.deleteFrom('webhooks').where('id', '=', id).execute()
      await auditWebhook(trx, 'delete', found, { ...by, at: now() })
      return found
    })
    return webhookOf(row)
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
      const row = await find(trx, id, tenantId)
      if (row.disabled_at !== null) throw new ShoalError('conflict', `webhook ${id} is disabled`)
      await auditWebhook(trx, 'test', row, { ...by, at: now() })
      return queue.addWithin(trx, deliveryJob(webhookOf(row), event))
    })
    queue.wake()
    return { eventId: event.id, jobId: job.id }
  }

  /** Enabled webhooks of all tenants. */
  async active(): Promise<Webhook[]> {
    const query = this.#parts.store.ledger.read.selectFrom('webhooks').selectAll().orderBy('id')
    return (await query.where('disabled_at', 'is', null).execute()).map(webhookOf)
  }

  #newRow(
    { url, types, label }: NewWebhook,
    { tenantId }: WebhookScope,
    by: Actor,
  ): { row: WebhookRow; secret: string } {
    const { sealing, sender, now } = this.#parts
    const id = newId('wh', now())
    const secret = newWebhookSecret()
    const row: WebhookRow = {
      id,
      tenant_id: tenantId,
      url: sender.judge(url).url.href,
      types_json: JSON.stringify(types),
      label,
      secret_sealed: sealing.seal(secret, id),
      previous_sealed: null,
      previous_until: null,
      disabled_at: null,
      disabled_reason: null,
      slowed_at: null,
      dead_in_row: 0,
      after_seq: 0,
      delivered_at: null,
      created_by: by.actor,
      created_at: now(),
      changed_at: now(),
    }
    return { row, secret }
  }

  #testEvent(id: string, tenantId: string): CloudEvent {
    const { source, now } = this.#parts
    return {
      specversion: '1.0',
      id: systemRuntime.ids.uuid(),
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
    change: (row: WebhookRow, trx: SealedTrx) => Partial<WebhookRow> | Promise<Partial<WebhookRow>>,
  ): Promise<Webhook> {
    const { store, now } = this.#parts
    const after = await store.ledger.sealed.write(async trx => {
      const before = await find(trx, id, tenantId)
      const row = { ...before, ...(await change(before, trx)), changed_at: now() }
      await trx.updateTable('webhooks').set(row).where('id', '=', id).execute()
      await auditWebhook(trx, verb, row, { ...by, at: now() })
      return row
    })
    return webhookOf(after)
  }
}

const auditWebhook = (
  trx: SealedTrx,
  verb: string,
  { id, tenant_id, url, types_json }: WebhookRow,
  by: Actor & { at: number },
): Promise<unknown> =>
  appendAudit(trx, {
    ...by,
    tenant: tenant_id,
    action: `webhook.${verb}`,
    subject: id,
    outcome: 'done',
    // the path of the address may be a secret of the receiver
    details: { host: new URL(url).host, types: JSON.parse(types_json) },
  })

const find = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  id: string,
  tenantId: string,
): Promise<WebhookRow> => {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
  if (row?.tenant_id === tenantId) return row
  throw new ShoalError('not_found', `no webhook ${id}`)
}
