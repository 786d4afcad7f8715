import * as z from 'zod'
import { defineView, own } from '../../../kernel/declaration/define-view.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { TypePattern } from '../../../kernel/events/event-view.ts'
import { webhookTable } from '../webhook.table.ts'
import type { Webhook } from '../webhook.ts'

const view = defineView(webhookTable, {
  id: true,
  url: true,
  types: 'Event types and families; empty for all.',
  label: true,
  state: own(z.enum(['active', 'disabled']), ({ disabledAt }: Webhook) =>
    disabledAt === undefined ? 'active' : 'disabled',
  ),
  disabled_reason: true,
  slowed_at: 'Time since which more events wait than the address takes; null when none do.',
  delivered_at: 'Time of the last successful delivery.',
  created_by: true,
  created_at: true,
  changed_at: true,
})
export const WebhookView = view.schema
export const webhookViewOf = view.of

export const WebhookWithSecret = WebhookView.extend({
  secret: z.string().describe('Secret that verifies the signatures; shown only once.'),
})

export const WEBHOOK_PATH = { webhook_id: Id }

export const Types = z.array(TypePattern).max(50)
