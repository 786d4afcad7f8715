import * as z from 'zod'
import type { Context } from '../../declaration/context.ts'
import { defineOperation } from '../../declaration/operation.ts'
import { scopeOf } from '../../declaration/tenant-scope.ts'
import type { QueueViews } from '../open.ts'
import { JOB_PATH, JobView, jobViewOf } from './job-view.ts'

export default defineOperation({
  id: 'queue-retry',
  description: 'Retry a failed or cancelled job from the beginning.',
  method: 'POST',
  path: '/v1/queue/jobs/{job_id}/retry',
  access: 'operator',
  effect: 'write',
  input: z.strictObject(JOB_PATH),
  output: JobView,
  run: async ({ job_id }, context: Context & QueueViews) =>
    jobViewOf(await context.queue.retry(job_id, scopeOf(context), context.actor)),
})
