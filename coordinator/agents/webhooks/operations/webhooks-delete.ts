import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../open.ts'
import { WEBHOOK_PATH, WebhookView, webhookViewOf } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-delete',
  description: 'Delete a webhook; its pending deliveries are dropped.',
  method: 'DELETE',
  path: '/v1/webhooks/{webhook_id}',
  access: 'operator',
  effect: 'write',
  tool: false,
  input: z.strictObject(WEBHOOK_PATH),
  output: WebhookView,
  run: async ({ webhook_id }, context: Context & WebhookViews) =>
    webhookViewOf(await context.webhooks.delete(webhook_id, scopeOf(context), context.actor)),
})
