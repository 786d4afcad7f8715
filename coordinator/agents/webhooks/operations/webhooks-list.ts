import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../open.ts'
import { WebhookView, webhookViewOf } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-list',
  description: 'List the webhooks of the tenant, oldest first.',
  method: 'GET',
  path: '/v1/webhooks',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ webhooks: z.array(WebhookView) }),
  run: async (_input, context: Context & WebhookViews) => ({
    webhooks: (await context.webhooks.list(scopeOf(context))).map(webhookViewOf),
  }),
})
