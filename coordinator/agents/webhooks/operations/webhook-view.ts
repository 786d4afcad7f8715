import * as z from 'zod'
import { iso, isoOrNull } from '../../../../shared/time.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { TypePattern } from '../../../kernel/events/event-view.ts'
import type { Webhook } from '../webhook.ts'

const time = z.iso.datetime()

export const WebhookView = z.object({
  id: z.string(),
  url: z.string(),
  types: z.array(z.string()).describe('Event types and families; empty for all.'),
  label: z.string(),
  state: z.enum(['active', 'disabled']),
  disabled_reason: z.string().nullable(),
  slowed_at: time
    .nullable()
    .describe('Time since which more events wait than the address takes; null when none do.'),
  delivered_at: time.nullable().describe('Time of the last successful delivery.'),
  created_by: z.string(),
  created_at: time,
  changed_at: time,
})

export const WebhookWithSecret = WebhookView.extend({
  secret: z.string().describe('Secret that verifies the signatures; shown only once.'),
})

export const WEBHOOK_PATH = { webhook_id: Id }

export const Types = z.array(TypePattern).max(50)

export const webhookViewOf = (webhook: Webhook): z.input<typeof WebhookView> => ({
  id: webhook.id,
  url: webhook.url,
  types: webhook.types,
  label: webhook.label,
  state: webhook.disabledAt === undefined ? 'active' : 'disabled',
  disabled_reason: webhook.disabledReason ?? null,
  slowed_at: isoOrNull(webhook.slowedAt),
  delivered_at: isoOrNull(webhook.deliveredAt),
  created_by: webhook.createdBy,
  created_at: iso(webhook.createdAt),
  changed_at: iso(webhook.changedAt),
})
