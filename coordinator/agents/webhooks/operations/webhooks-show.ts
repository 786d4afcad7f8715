import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { WEBHOOK_PATH, WebhookView, webhookViewOf } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-show',
  description: 'Show one webhook.',
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject(WEBHOOK_PATH),
  output: WebhookView,
  run: async ({ webhook_id }, context) =>
    webhookViewOf(await context.webhooks.get(webhook_id, scopeOf(context))),
})
