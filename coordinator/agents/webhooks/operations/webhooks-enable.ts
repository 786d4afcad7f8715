import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../open.ts'
import { WEBHOOK_PATH, WebhookView, webhookViewOf } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-enable',
  description: 'Re-enable a disabled webhook; deliveries that were dropped are not sent.',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/enable',
  access: 'operator',
  effect: 'write',
  tool: false,
  input: z.strictObject(WEBHOOK_PATH),
  output: WebhookView,
  run: async ({ webhook_id }, context: Context & WebhookViews) =>
    webhookViewOf(await context.webhooks.enable(webhook_id, scopeOf(context), context.actor)),
})
