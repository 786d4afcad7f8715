import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { DAY_MS } from '../../shared/time.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import type { CloudEvent } from '../events/bus.ts'
import type { Sender } from '../outbound/sender.ts'
import { newWebhookSecret } from '../outbound/signature.ts'
import { cancelLane } from '../queue/job-store.ts'
import type { Queue } from '../queue/queue.ts'
import type { Sealing } from '../signing/sealing.ts'
import type { WebhookRow } from '../store/delivery-tables.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { laneOf, type Webhook, webhookOf } from './webhook.ts'
import { deliveryJob } from './webhook-delivery.ts'
import type { WebhooksConfig } from './webhooks-config.ts'

export interface NewWebhook {
  url: string
  types: string[]
  label: string
}

export interface WebhookScope {
  tenantId: string
}

/** A webhook with its secret, which is shown now and never again. */
export interface WithSecret {
  webhook: Webhook
  secret: string
}

/** The addresses that tenants want their events at. All but `create` throw `not_found`. */
export interface Webhooks {
  /** Throws `invalid_request` for an address that is not sent to, `conflict` for too many. */
  create(webhook: NewWebhook, scope: WebhookScope, by: Actor): Promise<WithSecret>
  get(id: string, scope: WebhookScope): Promise<Webhook>
  /** Oldest first. */
  list(scope: WebhookScope): Promise<Webhook[]>
  /** A new secret; the one before signs too until a day has passed. */
  rotate(id: string, scope: WebhookScope, by: Actor): Promise<WithSecret>
  /** Sends to it again. What was called off is not sent. */
  enable(id: string, scope: WebhookScope, by: Actor): Promise<Webhook>
  delete(id: string, scope: WebhookScope, by: Actor): Promise<Webhook>
  /** Puts a test event into the queue. Throws `conflict` for one that is disabled. */
  test(id: string, scope: WebhookScope, by: Actor): Promise<{ eventId: string; jobId: string }>
  /** Enabled webhooks of all tenants. */
  active(): Promise<Webhook[]>
  /**
   * Subscribes to changes, including those of other processes. A change made in this process
   * resolves once every listener has handled it.
   */
  onChange(listener: () => void | Promise<void>): () => void
}

export interface WebhookParts {
  store: Store
  config: WebhooksConfig
  sealing: Sealing
  sender: Pick<Sender, 'judge'>
  queue: Pick<Queue, 'addWithin' | 'wake'>
  /** Names this coordinator in events. */
  source: string
  /** Unix time, milliseconds. */
  now: () => number
}

export const createWebhooks = (parts: WebhookParts): Webhooks => {
  const { config, sealing, sender, now } = parts
  const { ledger, revisions } = parts.store
  const listeners = new Set<() => void | Promise<void>>()
  const tell = async (): Promise<void> => {
    await Promise.all([...listeners].map(listener => listener()))
  }

  const rowOf = (
    { url, types, label }: NewWebhook,
    { tenantId }: WebhookScope,
    by: Actor,
  ): { row: WebhookRow; secret: string } => {
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
      dead_in_row: 0,
      delivered_at: null,
      created_by: by.actor,
      created_at: now(),
      changed_at: now(),
    }
    return { row, secret }
  }

  const audit = (
    trx: SealedTrx,
    verb: string,
    { id, tenant_id, url, types_json }: WebhookRow,
    by: Actor,
  ) =>
    appendAudit(trx, {
      ...by,
      ...{ tenant: tenant_id, action: `webhook.${verb}`, subject: id, outcome: 'done' },
      // a path may be a secret of the receiver's
      details: { host: new URL(url).host, types: JSON.parse(types_json) },
    })

  const requireRoom = async (trx: SealedTrx, tenantId: string): Promise<void> => {
    const query = trx.selectFrom('webhooks').select('id').where('tenant_id', '=', tenantId)
    if ((await query.execute()).length >= config.max_per_tenant)
      throw new ShoalError('conflict', `a tenant may have ${config.max_per_tenant} webhooks`)
  }

  const create: Webhooks['create'] = async (wanted, scope, by) => {
    const { row, secret } = rowOf(wanted, scope, by)
    await ledger.sealed.write(async trx => {
      await requireRoom(trx, scope.tenantId)
      await trx.insertInto('webhooks').values(row).execute()
      await bumpRevision(trx, 'webhooks')
      await audit(trx, 'create', row, by)
    })
    await tell()
    return { webhook: webhookOf(row), secret }
  }

  /** One change of one webhook, with its row in the audit. */
  const change = async (
    verb: string,
    [id, { tenantId }, by]: [string, WebhookScope, Actor],
    values: (row: WebhookRow, trx: SealedTrx) => Promise<Partial<WebhookRow>>,
  ): Promise<Webhook> => {
    const after = await ledger.sealed.write(async trx => {
      const before = await find(trx, id, tenantId)
      const row = { ...before, ...(await values(before, trx)), changed_at: now() }
      await trx.updateTable('webhooks').set(row).where('id', '=', id).execute()
      await bumpRevision(trx, 'webhooks')
      await audit(trx, verb, row, by)
      return row
    })
    await tell()
    return webhookOf(after)
  }

  const rotate: Webhooks['rotate'] = async (...asked) => {
    const secret = newWebhookSecret()
    const webhook = await change('rotate', asked, async row => ({
      secret_sealed: sealing.seal(secret, row.id),
      previous_sealed: row.secret_sealed,
      previous_until: now() + DAY_MS,
    }))
    return { webhook, secret }
  }

  const remove: Webhooks['delete'] = async (id, { tenantId }, by) => {
    const row = await ledger.sealed.write(async trx => {
      const found = await find(trx, id, tenantId)
      await cancelLane(trx, laneOf(id), 'the webhook was deleted', now())
      await trx.deleteFrom('webhooks').where('id', '=', id).execute()
      await bumpRevision(trx, 'webhooks')
      await audit(trx, 'delete', found, by)
      return found
    })
    await tell()
    return webhookOf(row)
  }

  const test: Webhooks['test'] = async (id, { tenantId }, by) => {
    const event: CloudEvent = {
      specversion: '1.0',
      id: randomUUID(),
      source: parts.source,
      type: 'shoal.webhook.test',
      subject: id,
      time: new Date(now()).toISOString(),
      data: { tenant_id: tenantId },
    }
    const job = await ledger.sealed.write(async trx => {
      const row = await find(trx, id, tenantId)
      if (row.disabled_at !== null) throw new ShoalError('conflict', `webhook ${id} is disabled`)
      await audit(trx, 'test', row, by)
      return parts.queue.addWithin(trx, deliveryJob(webhookOf(row), event))
    })
    parts.queue.wake()
    return { eventId: event.id, jobId: job.id }
  }

  return {
    create,
    rotate,
    test,
    delete: remove,
    enable: (...asked) =>
      change('enable', asked, async ({ url }) => {
        sender.judge(url)
        return { disabled_at: null, disabled_reason: null, dead_in_row: 0 }
      }),
    get: async (id, { tenantId }) => webhookOf(await find(ledger.read, id, tenantId)),
    list: async ({ tenantId }) => {
      const query = ledger.read.selectFrom('webhooks').selectAll().orderBy('id')
      return (await query.where('tenant_id', '=', tenantId).execute()).map(webhookOf)
    },
    active: async () => {
      const query = ledger.read.selectFrom('webhooks').selectAll().orderBy('id')
      return (await query.where('disabled_at', 'is', null).execute()).map(webhookOf)
    },
    onChange: listener => {
      listeners.add(listener)
      const stopWatching = revisions.onChange('webhooks', listener)
      return () => {
        listeners.delete(listener)
        stopWatching()
      }
    },
  }
}

const find = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  id: string,
  tenantId: string,
): Promise<WebhookRow> => {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
  if (row?.tenant_id === tenantId) return row
  throw new ShoalError('not_found', `no webhook ${id}`)
}
