import * as z from 'zod'
import type { Context } from '../../declaration/context.ts'
import { defineOperation } from '../../declaration/operation.ts'
import { scopeOf } from '../../declaration/tenant-scope.ts'
import type { QueueViews } from '../open.ts'
import { JOB_FILTER, JobPage, jobPageOf } from './job-view.ts'

export default defineOperation({
  id: 'queue-dead-letters',
  description: 'List the jobs that failed for good, with the reason, newest first.',
  method: 'GET',
  path: '/v1/queue/dead-letters',
  access: 'operator',
  effect: 'read',
  input: z.strictObject(JOB_FILTER),
  output: JobPage,
  run: async (filter, context: Context & QueueViews) => {
    const asked = { ...filter, states: ['dead' as const] }
    return jobPageOf(await context.queue.list(asked, scopeOf(context)), filter.limit)
  },
})
