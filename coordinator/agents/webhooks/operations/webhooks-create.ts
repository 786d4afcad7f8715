import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../open.ts'
import { Types, WebhookWithSecret, webhookViewOf } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-create',
  description:
    'Create a webhook that sends events to an https address. The secret is shown only once.',
  method: 'POST',
  path: '/v1/webhooks',
  access: 'operator',
  effect: 'write',
  tool: false,
  input: z.strictObject({
    url: z
      .string()
      .max(2048)
      .describe(
        "An https URL on the public internet, or a target in the coordinator's `outbound.allow`.",
      ),
    types: Types.default([]).describe(
      'Event types and families, such as shoal.gate.approved or shoal.cell.*; empty for all.',
    ),
    label: z.string().max(200).default(''),
  }),
  examples: [{ url: 'https://hooks.acme-corp.com/shoal', types: ['shoal.gate.*'] }],
  output: WebhookWithSecret,
  run: async (wanted, context: Context & WebhookViews) => {
    const { webhooks, actor } = context
    const { webhook, secret } = await webhooks.create(wanted, scopeOf(context), actor)
    return { ...webhookViewOf(webhook), secret }
  },
})
