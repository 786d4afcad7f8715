import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../open.ts'
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
  run: async ({ webhook_id }, context: Context & WebhookViews) =>
    webhookViewOf(await context.webhooks.get(webhook_id, scopeOf(context))),
})
