import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { scopeOf } from '../tenant-scope.ts'
import { WEBHOOK_PATH } from './webhook-view.ts'

export default defineOperation({
  id: 'webhooks-test',
  description: 'Send an event of type shoal.webhook.test to a webhook, behind what waits for it.',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/test',
  access: 'operator',
  effect: 'write',
  tool: false,
  openWorld: true,
  input: z.strictObject(WEBHOOK_PATH),
  output: z.object({
    event_id: z.string(),
    job_id: z.string().describe('`queue-show` tells what became of it.'),
  }),
  run: async ({ webhook_id }, context) => {
    const { webhooks, actor } = context
    const { eventId, jobId } = await webhooks.test(webhook_id, scopeOf(context), actor)
    return { event_id: eventId, job_id: jobId }
  },
})
