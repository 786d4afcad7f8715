import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context, TaskCaller } from '../../declaration/context.ts'
import { defineOperation } from '../../declaration/operation.ts'
import { scopeOf } from '../../declaration/tenant-scope.ts'
import type { QueueViews } from '../open.ts'
import { JOB_PATH, JobDetails, jobDetailsOf } from './job-view.ts'

/** Tasks, which a job may be about. */
interface TaskLookupViews {
  tasks: { get(taskId: string, by: TaskCaller): Promise<unknown> }
}

export default defineOperation({
  id: 'queue-show',
  description: 'Show one job of the queue with its payload.',
  method: 'GET',
  path: '/v1/queue/jobs/{job_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject(JOB_PATH),
  output: JobDetails,
  run: async ({ job_id }, context: Context & QueueViews & TaskLookupViews) => {
    const job = jobDetailsOf(await context.queue.get(job_id, scopeOf(context)))
    return { ...job, payload: await redactPayload(job.payload, context) }
  },
})

type Json = z.core.util.JSONType

const OfTask = z.object({ task_id: z.string(), body: z.string() }).catchall(z.json())

/** Payload of a job; the text of a task event is omitted unless the caller may see the task. */
const redactPayload = async (payload: Json, context: Context & TaskLookupViews): Promise<Json> => {
  const { data } = OfTask.safeParse(payload)
  if (data === undefined || (await sees(context, data.task_id))) return payload
  const { body: _, ...rest } = data
  return rest
}

const sees = async (context: Context & TaskLookupViews, taskId: string): Promise<boolean> => {
  try {
    await context.tasks.get(taskId, context)
    return true
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'not_found') return false
    throw error
  }
}
