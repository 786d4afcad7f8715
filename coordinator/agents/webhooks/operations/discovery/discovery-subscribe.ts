import * as z from 'zod'
import { DELTA_EVENT } from '../../../../discovery/entities/deltas.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../../open.ts'
import { WebhookWithSecret, webhookViewOf } from '../webhook-view.ts'

export default defineOperation({
  id: 'discovery-subscribe',
  description: 'Create a webhook for changes of the inventory. The secret is shown only once.',
  method: 'POST',
  path: '/a2a/discovery/subscribe',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'subscribe' },
  input: z.strictObject({
    url: z
      .string()
      .max(2048)
      .describe(
        "An https URL on the public internet, or a target in the coordinator's `outbound.allow`.",
      ),
    label: z.string().max(200).default('discovery'),
  }),
  examples: [{ url: 'https://hooks.acme-corp.com/discovery' }],
  output: WebhookWithSecret,
  run: async (wanted, context: Context & WebhookViews) => {
    const { webhooks, actor } = context
    const hook = { ...wanted, types: [DELTA_EVENT] }
    const { webhook, secret } = await webhooks.create(hook, scopeOf(context), actor)
    return { ...webhookViewOf(webhook), secret }
  },
})
