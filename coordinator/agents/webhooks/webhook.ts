import type { WebhookRow } from './webhook.table.ts'

/** An address that events of a tenant are sent to. Times are unix milliseconds. */
export interface Webhook {
  id: string
  tenantId: string
  url: string
  /** Types and families; all when empty. */
  types: string[]
  label: string
  disabledAt?: number
  disabledReason?: string
  /** Time since which more events wait for it than it takes. */
  slowedAt?: number
  /** Time of the last delivered event. */
  deliveredAt?: number
  /** Number of the newest event when it was created or enabled. */
  afterSeq: number
  createdBy: string
  createdAt: number
  changedAt: number
}

export const webhookOf = (row: WebhookRow): Webhook => ({
  id: row.id,
  tenantId: row.tenant_id,
  url: row.url,
  types: JSON.parse(row.types_json),
  label: row.label,
  afterSeq: row.after_seq,
  createdBy: row.created_by,
  createdAt: row.created_at,
  changedAt: row.changed_at,
  ...(row.disabled_at === null ? {} : { disabledAt: row.disabled_at }),
  ...(row.disabled_reason === null ? {} : { disabledReason: row.disabled_reason }),
  ...(row.slowed_at === null ? {} : { slowedAt: row.slowed_at }),
  ...(row.delivered_at === null ? {} : { deliveredAt: row.delivered_at }),
})

/** True for an event that happened after the webhook was created or enabled. */
export const isGoingTo = ({ afterSeq }: Pick<Webhook, 'afterSeq'>, seq: number): boolean =>
  seq > afterSeq

/** Deliveries of one webhook run in order. */
export const webhookLaneOf = (webhookId: string): string => `webhook:${webhookId}`
