import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { scopeOf } from '../tenant-scope.ts'
import { Types, WebhookWithSecret, webhookViewOf } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-create',
  description: 'Send events to an https address from now on. The secret is shown once.',
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
        'https://… of the public internet, or a target in `outbound.allow` of the coordinator.',
      ),
    types: Types.default([]).describe('shoal.gate.approved, shoal.cell.*; all when empty.'),
    label: z.string().max(200).default(''),
  }),
  examples: [{ url: 'https://hooks.acme-corp.com/shoal', types: ['shoal.gate.*'] }],
  output: WebhookWithSecret,
  run: async (wanted, context) => {
    const { webhooks, actor } = context
    const { webhook, secret } = await webhooks.create(wanted, scopeOf(context), actor)
    return { ...webhookViewOf(webhook), secret }
  },
})
