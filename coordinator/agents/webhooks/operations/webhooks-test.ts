import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { WebhookViews } from '../open.ts'
import { WEBHOOK_PATH } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-test',
  description: 'Send a test event (shoal.webhook.test) to a webhook, after its pending deliveries.',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/test',
  access: 'operator',
  effect: 'write',
  tool: false,
  openWorld: true,
  input: z.strictObject(WEBHOOK_PATH),
  output: z.object({
    event_id: z.string(),
    job_id: z.string().describe('Id of the delivery job; `queue-show` shows its state.'),
  }),
  run: async ({ webhook_id }, context: Context & WebhookViews) => {
    const { webhooks, actor } = context
    const { eventId, jobId } = await webhooks.test(webhook_id, scopeOf(context), actor)
    return { event_id: eventId, job_id: jobId }
  },
})
