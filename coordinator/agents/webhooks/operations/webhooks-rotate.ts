import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../open.ts'
import { WEBHOOK_PATH, WebhookWithSecret, webhookViewOf } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-rotate',
  description:
    'Give a webhook a new secret, shown only once. The previous secret signs too for a day.',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/rotate',
  access: 'operator',
  effect: 'write',
  tool: false,
  input: z.strictObject(WEBHOOK_PATH),
  output: WebhookWithSecret,
  run: async ({ webhook_id }, context: Context & WebhookViews) => {
    const { webhooks, actor } = context
    const { webhook, secret } = await webhooks.rotate(webhook_id, scopeOf(context), actor)
    return { ...webhookViewOf(webhook), secret }
  },
})
