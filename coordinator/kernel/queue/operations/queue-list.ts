import * as z from 'zod'
import type { Context } from '../../declaration/context.ts'
import { defineOperation } from '../../declaration/operation.ts'
import { scopeOf } from '../../declaration/tenant-scope.ts'
import { JOB_STATES } from '../job.ts'
import type { QueueViews } from '../open.ts'
import { JOB_FILTER, JobPage, jobPageOf } from './job-view.ts'

export default defineOperation({
  id: 'queue-list',
  description: 'List the jobs of the queue, newest first.',
  method: 'GET',
  path: '/v1/queue/jobs',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ state: z.enum(JOB_STATES).exactOptional(), ...JOB_FILTER }),
  output: JobPage,
  run: async ({ state, ...filter }, context: Context & QueueViews) => {
    const asked = { ...filter, ...(state === undefined ? {} : { states: [state] }) }
    return jobPageOf(await context.queue.list(asked, scopeOf(context)), filter.limit)
  },
})
